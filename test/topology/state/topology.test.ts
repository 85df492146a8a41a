import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Endpoint } from '../../../src/topology/decide/endpoint.ts';
import { NODE_SET_LINGER_MS } from '../../../src/topology/state/node-set.ts';
import { groupOf } from '../../support/topology/endpoint-group.ts';
import { PLAIN_TOPOLOGY } from '../../support/topology/plain-topology.ts';
import { managed, on, TopologyHarness } from '../../support/topology/topology-harness.ts';

/*
 * `policies.property` compares what a topology decides with a model. These are the rules that it does not see: which
 * node sets are watched, what is reported to listeners, refusals and limits.
 */

const ZONE = 'topology.kubernetes.io/zone';
const COMMUNITY = 'kube-proxy-wrapper.io/community';
let harness: TopologyHarness;

beforeEach(() => {
  harness = new TopologyHarness();
});

test('is synced once every source is known, and not while a change of this node is pending', () => {
  const sources = { declaredCommunities: true, namespaces: true };
  const steps: (() => void)[] = [
    () => harness.topology.setSynced('namespaces'),
    () => harness.topology.setSynced('services'),
    () => harness.setOwnLabels({}),
    () => harness.topology.setCommunities(new Map()),
  ];
  for (const last of steps) {
    harness = new TopologyHarness(sources);
    for (const step of steps) if (step !== last) step();
    expect(harness.topology.synced).toBe(false);
    last();
    expect(harness.topology.synced).toBe(true);
  }
  harness.setKeys('default/web', 'site');
  harness.setOwnLabels({ site: 'a' });
  expect([harness.topology.hasPending, harness.topology.synced]).toEqual([true, false]);
  harness.sync('site=a');
  expect([harness.topology.hasPending, harness.topology.synced]).toEqual([false, true]);
});

test('counts Services by the source of their policy, or the reason for none', () => {
  const none = { managed: false, reason: 'headless' } as const;
  harness.settle({}, { 'default/web': managed('*'), 'default/db': none });
  const counts = Object.fromEntries(harness.topology.policies.countByKind());
  expect(counts).toEqual({ annotation: 1, headless: 1 });
});

describe('a node set is needed', () => {
  test('not by hostname and "*"', () => {
    const keys = ['kubernetes.io/hostname', '*'];
    harness.settle({ [ZONE]: 'z1' }, { 'default/web': managed(...keys) });
    expect([harness.wanted, harness.topology.synced]).toEqual([[], true]);
  });

  test('not by an empty zone, which is none, as in kube-proxy; any other label may be empty', () => {
    harness.settle({ [ZONE]: '', site: '' }, { 'default/web': managed(ZONE, 'site') });
    expect(harness.wanted).toEqual(['site=']);
    harness.sync('site=', 'near');
    expect(harness.sees([ZONE], on('edge-1'), on('near'), on('near', 'z1'))).toEqual([
      false,
      false,
      false,
    ]);
    expect(harness.sees(['site'], on('edge-1'), on('near'), on('far'))).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('until the last policy that uses it is deleted or replaced, also a pending one', () => {
    const all = { 'default/web': managed('site'), 'default/db': managed('site') };
    harness.settle({ site: 'a', rack: 'r' }, all);
    harness.sync('site=a');
    harness.setKeys('default/web');
    expect(harness.wanted).toEqual(['site=a']);
    harness.setKeys('default/db', '*');
    expect(harness.wanted).toEqual([]);
    harness.setKeys('default/db', 'rack');
    expect(harness.wanted).toEqual(['rack=r']);
    expect([...harness.topology.policies.keysInUse()]).toEqual(['*', 'rack']);
    harness.setKeys('default/db', '*');
    expect([harness.wanted, harness.topology.synced]).toEqual([[], true]);
  });

  // Regression: the index kept the key of the first policy, so the nodes of the zone were watched forever.
  test('not by a policy with the zone key that was replaced', () => {
    harness.settle({ [ZONE]: 'z1', site: 'a' }, { 'default/web': managed(ZONE) });
    harness.setKeys('default/web', 'site');
    harness.sync('site=a');
    expect(harness.wanted).toEqual(['site=a']);
  });

  test('before a policy that uses it becomes active, and not before another one does', () => {
    harness.settle({ site: 'a', rack: 'r' }, {});
    harness.setKeys('default/web', 'site');
    harness.setKeys('default/db', 'rack');
    harness.setKeys('default/api', 'rack');
    harness.sync('rack=r');
    expect([...harness.topology.policies.withPending]).toEqual(['default/web']);
    harness.sync('site=a');
    expect([...harness.topology.policies.withPending]).toEqual([]);
  });

  test('by the active and by the next labels of this node, until the next ones are active', () => {
    harness.settle({ site: 'a' }, { 'default/web': managed('site'), 'default/db': managed('*') });
    harness.sync('site=a', 'edge-1', 'edge-2');
    harness.touched();
    harness.setOwnLabels({ site: 'b', color: 'red' });
    expect([harness.wanted, harness.touched()]).toEqual([['site=a', 'site=b'], []]);
    harness.topology.nodeSets.get('site=b')?.change(['edge-1', 'edge-3'], []);
    expect(harness.sees(['site'], on('edge-2'), on('edge-3'))).toEqual([true, false]);
    harness.sync('site=b');
    expect(harness.sees(['site'], on('edge-2'), on('edge-3'))).toEqual([false, true]);
    // Only Services with an endpoint on these nodes are affected; the own node is in both sets.
    expect(harness.touchedNodes()).toEqual({ 'edge-2': ['site'], 'edge-3': ['site'] });
    expect(harness.wanted).toEqual(['site=b']);
  });

  test('not on a node that is switched off', () => {
    harness.settle({ site: 'a' }, { 'default/web': managed('site') });
    expect(harness.topology.synced).toBe(false);
    const off = new Map([['kube-proxy-wrapper.io/filter', 'off']]);
    harness.topology.setOwnNode({ labels: new Map([['site', 'b']]), annotations: off });
    expect([harness.topology.synced, harness.wanted]).toEqual([true, []]);
    harness.setOwnLabels({ site: 'b' });
    expect(harness.wanted).toEqual(['site=b']);
  });

  test('on a node that is switched off for relays alone, and nothing waits for them', () => {
    const relays = { ...managed('site'), ofRelays: true as const };
    harness.settle({ site: 'a' }, { 'default/relay': relays, 'default/web': managed('rack') });
    const off = new Map([['kube-proxy-wrapper.io/filter', 'off']]);
    const { topology } = harness;
    topology.setOwnNode({
      labels: new Map(Object.entries({ site: 'b', rack: 'r' })),
      annotations: off,
    });
    expect([topology.synced, harness.wanted]).toEqual([true, ['site=b']]);
    expect([topology.activePolicy('default/relay'), topology.relayPolicy('default/relay')]).toEqual(
      [{ managed: false, reason: 'node-off' }, undefined],
    );
    harness.sync('site=b');
    expect(topology.relayPolicy('default/relay')).toEqual(relays);
    harness.setKeys('default/relay');
    expect(harness.wanted).toEqual([]);
  });
});

describe('the zone key', () => {
  const sees = (...endpoints: Endpoint[]) => harness.seesAfterLookup([ZONE], ...endpoints);

  beforeEach(() => {
    harness.settle({ [ZONE]: 'z1' }, { 'default/web': managed(ZONE) });
    harness.sync(`${ZONE}=z1`, 'near');
    harness.touched();
  });

  test('waits for the nodes of the zone, as every other key does', () => {
    harness.setOwnLabels({ [ZONE]: 'z2' });
    expect([harness.topology.hasPending, sees(on('edge-1'), on('near', 'z2'))]).toEqual([
      true,
      [true, true],
    ]);
    harness.sync(`${ZONE}=z2`, 'far');
    expect(sees(on('edge-1'), on('near'), on('far', 'z1'))).toEqual([true, false, true]);
  });

  test('compares the labels of nodes, whatever zone the slice says; of this node its own', () => {
    expect(sees(on('near', 'z9'), on('edge-1', 'z9'), on('far', 'z9'), on('far'))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(sees(on('near', 'z1'), on('edge-1', 'z1'))).toEqual([true, true]);
    expect(harness.lookedUp).toEqual([]);
    harness.setOwnLabels({});
    expect(sees(on('near', 'z1'), on('edge-1', 'z1'))).toEqual([false, false]);
  });

  test('takes the zone of the slice only if no node is named, or there is no such Node', () => {
    const endpoints = [on('', 'z1'), on('', 'z2'), on(''), on('abroad', 'z1'), on('abroad', 'z2')];
    const expected = [true, false, false, true, false];
    expect(sees(...endpoints)).toEqual(expected);
    expect(harness.lookedUp).toEqual(['abroad']);
    harness.found({});
    expect([sees(...endpoints), harness.lookedUp]).toEqual([expected, []]);
  });

  // The slice says z1 until its Pod changes.
  test('follows a Node that is moved to another zone, and asks for nothing twice', () => {
    const endpoint = on('near', 'z1');
    harness.topology.nodeSets.get(`${ZONE}=z1`)?.change([], ['near']);
    expect([harness.touchedNodes(), sees(endpoint), harness.lookedUp]).toEqual([
      { near: [ZONE] },
      [true],
      ['near'],
    ]);
    harness.touched();
    harness.found({ near: 'z2' });
    expect([harness.touchedNodes(), sees(endpoint)]).toEqual([{ near: [ZONE] }, [false]]);
    expect(harness.lookedUp).toEqual([]);
    harness.topology.nodeSets.get(`${ZONE}=z1`)?.change(['near'], []);
    expect(sees(endpoint)).toEqual([true]);
    harness.topology.nodeSets.get(`${ZONE}=z1`)?.change([], ['near']);
    expect([sees(endpoint), harness.lookedUp]).toEqual([[true], ['near']]);
  });

  test('does not flap when a Node is deleted and registered again', () => {
    const endpoint = on('near', 'z1');
    const seen: boolean[] = [];
    // As a view, which decides again.
    harness.topology.subscribe(() => void sees(endpoint));
    const steps = [
      () => harness.topology.nodeSets.get(`${ZONE}=z1`)?.change([], ['near']),
      () => harness.found({}),
      () => harness.lookupClock.pass(1_000),
      () => harness.found({ near: '' }),
      () => harness.topology.nodeSets.get(`${ZONE}=z1`)?.change(['near'], []),
    ];
    for (const step of steps) {
      step();
      seen.push(...sees(endpoint));
    }
    expect(seen).toEqual([true, true, true, false, true]);
  });

  test('of a new Node whose slice comes before it counts immediately', () => {
    expect(sees(on('new', 'z1'))).toEqual([true]);
    harness.topology.nodeSets.get(`${ZONE}=z1`)?.change(['new'], []);
    harness.found({ new: 'z0' });
    expect(sees(on('new', 'z1'))).toEqual([true]);
  });

  test('looks up nothing for policies without it, and nothing while the node set is refused', () => {
    harness.setKeys('default/web', 'site', '*');
    harness.topology.lookUpNodes('default/web', managed('site', '*'), [
      groupOf([], [on('far', 'z1')]),
    ]);
    harness = new TopologyHarness();
    harness.settle({ [ZONE]: 'z1' }, { 'default/web': managed(ZONE) });
    harness.topology.nodeSets.get(`${ZONE}=z1`)?.refuse('nodes is forbidden');
    expect(sees(on('far', 'z1'), on('far', 'z2'))).toEqual([true, false]);
    expect(harness.lookedUp).toEqual([]);
  });

  // A Node that was relabelled meanwhile stayed in the zone, because nothing decided about its Service again.
  test.each([
    ['nodes', ['near']],
    ['no node', []],
  ])('decides again and looks up when a refused node set is granted with %s', (_, nodes) => {
    harness = new TopologyHarness();
    harness.settle({ [ZONE]: 'z1' }, { 'default/web': managed(ZONE), 'default/db': managed('*') });
    harness.topology.nodeSets.get(`${ZONE}=z1`)?.refuse('nodes is forbidden');
    harness.touched();
    harness.sync(`${ZONE}=z1`, ...nodes);
    expect(harness.touched()).toEqual(['default/web']);
    sees(on('far', 'z1'));
    expect(harness.lookedUp).toEqual(['far']);
    harness.found({ far: 'z2' });
    expect(sees(on('far', 'z1'))).toEqual([false]);
  });
});

/** Counts how often a label of this node is looked up. */
class CountedLabels extends Map<string, string> {
  lookups = 0;
  override get(key: string): string | undefined {
    this.lookups++;
    return super.get(key);
  }
  override has(key: string): boolean {
    this.lookups++;
    return super.has(key);
  }
}

test('the work for a change grows with the labels of this node, not with the keys that tenants write', () => {
  const counts = [1, 500].map((services) => {
    harness = new TopologyHarness();
    const labels = new CountedLabels([['site', 'a']]);
    harness.topology.setOwnNode({ labels, annotations: new Map() });
    harness.setKeys('default/web', 'site');
    for (let n = 0; n < services; n++) harness.setKeys(`tenant/s${n}`, `k${n}.a`, `k${n}.b`);
    labels.lookups = 0;
    harness.sync('site=a', 'edge-2');
    harness.setKeys('default/db', 'site');
    const next = new CountedLabels([['site', 'b']]);
    harness.topology.setOwnNode({ labels: next, annotations: new Map() });
    harness.sync('site=b', 'edge-3');
    return labels.lookups + next.lookups;
  });
  expect(counts[1]).toBe(counts[0]);
});

describe('a change of a node set', () => {
  beforeEach(() => {
    harness.settle({ site: 'a' }, { 'default/web': managed('site') });
    harness.sync('site=a', 'edge-2');
    harness.touched();
  });

  test('reports the nodes and the key that it affects, except this node: only its own Node decides', () => {
    harness.topology.nodeSets.get('site=a')?.change(['edge-1'], []);
    harness.topology.nodeSets.get('site=a')?.change([], ['edge-1']);
    expect(harness.changes).toEqual([]);
    // The same objects, because matches are cached by identity.
    const policy = managed('site');
    const groups = [groupOf([], [on('edge-1'), on('edge-2'), on('edge-4')])];
    const kept = () => [...(harness.topology.decide('default/web', groups, policy)?.keep ?? [])];
    expect(kept()).toEqual([1, 1, 0]);
    harness.topology.nodeSets.get('site=a')?.change(['edge-4'], ['edge-1', 'edge-2']);
    expect(harness.touchedNodes()).toEqual({ 'edge-4': ['site'], 'edge-2': ['site'] });
    expect(kept()).toEqual([1, 0, 1]);
  });

  test('counts while no policy needs it, so that a policy that returns is active immediately', () => {
    harness.setKeys('default/web', '*');
    harness.topology.nodeSets.get('site=a')?.change(['edge-3'], ['edge-2']);
    harness.clock.pass(NODE_SET_LINGER_MS - 1);
    harness.setKeys('default/web', 'site');
    expect(harness.topology.synced).toBe(true);
    harness.clock.pass(NODE_SET_LINGER_MS);
    expect(harness.sees(['site'], on('edge-2'), on('edge-3'))).toEqual([false, true]);
    harness.setKeys('default/web');
    harness.clock.pass(NODE_SET_LINGER_MS);
    expect(harness.topology.nodeSets.size).toBe(0);
  });

  test('that the API server refuses later does not remove its nodes', () => {
    harness.topology.nodeSets.get('site=a')?.refuse('nodes is forbidden');
    expect(harness.sees(['site'], on('edge-2'))).toEqual([true]);
    expect(harness.topology.nodeSets.get('site=a')?.refusal).toBe('nodes is forbidden');
  });
});

test('a refused node set has only this node, and reports the refusal until it is known', () => {
  harness.settle({ site: 'a' }, { 'default/web': managed('site') });
  const state = () => harness.topology.nodeSets.get('site=a');
  harness.topology.nodeSets.get('site=a')?.refuse('nodes is forbidden');
  expect(harness.topology.synced).toBe(true);
  expect(harness.sees(['site'], on('edge-1'), on('edge-2'))).toEqual([true, false]);
  expect(state()).toMatchObject({ state: 'refused', refusal: 'nodes is forbidden' });
  harness.sync('site=a', 'edge-2');
  expect(harness.sees(['site'], on('edge-2'))).toEqual([true]);
  expect(state()).toMatchObject({ state: 'synced', refusal: undefined });
});

describe('above maxNodeSets', () => {
  const reasonOf = (service: string) => {
    const policy = harness.topology.activePolicy(service);
    return policy?.managed === false ? policy.reason : policy?.keys.join();
  };
  const stateOf = (selector: string) => harness.topology.nodeSets.get(selector)?.state;

  test('a policy whose set has no room does not apply, until its nodes are known', () => {
    harness = new TopologyHarness({ maxNodeSets: 1 });
    const both = { 'a/web': managed('rack'), 'a/db': managed('site', '*') };
    harness.settle({ site: 'a', rack: 'r' }, both);
    harness.sync('rack=r', 'edge-2');
    expect(harness.topology.synced).toBe(true);
    expect([stateOf('rack=r'), stateOf('site=a')]).toEqual(['synced', 'overLimit']);
    expect([reasonOf('a/web'), reasonOf('a/db')]).toEqual(['rack', 'node-set-limit']);
    harness.touched();
    harness.setKeys('a/web', '*');
    expect([stateOf('site=a'), reasonOf('a/db')]).toEqual(['syncing', 'node-set-limit']);
    expect(harness.topology.synced).toBe(true);
    expect(harness.touched()).toEqual(['a/web']);
    harness.sync('site=a', 'edge-3');
    expect([harness.touched(), reasonOf('a/db')]).toEqual([['a/db'], 'site,*']);
    expect(harness.sees(['site'], on('edge-3'))).toEqual([true]);
  });

  // It stayed hidden until the set of the other Namespace was known.
  test('a Service whose first policy waits for a set that loses its room is shown', () => {
    harness = new TopologyHarness({ maxNodeSets: 2 });
    const { topology } = harness;
    harness.settle({ t: '1', s: '1', r: '1' }, { 'b/one': managed('r') });
    harness.sync('r=1', 'edge-2');
    harness.setKeys('b/two', 's');
    expect([stateOf('s=1'), topology.isHidden('b/two', false)]).toEqual(['syncing', true]);
    harness.setKeys('a/one', 't');
    expect([stateOf('s=1'), reasonOf('b/two')]).toEqual(['overLimit', 'node-set-limit']);
    expect(topology.isHidden('b/two', false)).toBe(false);
  });

  test('a set that another Namespace needs closes one of a Namespace with more, and its Services are decided again', () => {
    harness = new TopologyHarness({ maxNodeSets: 2 });
    const greedy = { 'a/s1': managed('rack'), 'a/s2': managed('site') };
    harness.settle({ site: 'a', rack: 'r', zone: 'z' }, greedy);
    for (const selector of ['rack=r', 'site=a']) harness.sync(selector, 'edge-2');
    harness.touched();
    harness.setKeys('b/web', 'zone');
    expect([stateOf('rack=r'), stateOf('site=a'), stateOf('zone=z')]).toEqual([
      'synced',
      'overLimit',
      'syncing',
    ]);
    expect([reasonOf('a/s2'), harness.touched()]).toEqual(['node-set-limit', ['a/s2', 'b/web']]);
    // The greedy Namespace cannot have it back with more Services.
    for (let n = 3; n < 30; n++) harness.setKeys(`a/s${n}`, 'site');
    expect([stateOf('rack=r'), stateOf('site=a'), stateOf('zone=z')]).toEqual([
      'overLimit',
      'syncing',
      'syncing',
    ]);
  });

  test('new labels of this node that need a set without room are adopted, and their Services decided again', () => {
    harness = new TopologyHarness({ maxNodeSets: 1 });
    harness.settle({ site: 'a' }, { 'a/web': managed('site') });
    harness.sync('site=a', 'edge-2');
    harness.touched();
    harness.setOwnLabels({ site: 'b' });
    expect([reasonOf('a/web'), harness.touched()]).toEqual(['node-set-limit', ['a/web']]);
    harness.sync('site=b', 'edge-3');
    expect([reasonOf('a/web'), harness.touched()]).toEqual(['site', ['a/web']]);
    expect([stateOf('site=a'), harness.sees(['site'], on('edge-3'))]).toEqual([undefined, [true]]);
  });
});

test('whatever one Namespace needs, Services of others are decided as without it, in any order and after a restart', () => {
  const labels = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`l${n}`, 'x']));
  const anyKeys = (most: number) =>
    fc.uniqueArray(fc.constantFrom(...Object.keys(labels)), { minLength: 1, maxLength: most });
  // With room for 8: each of the others needs at most a quarter, and all of them together at most 6.
  const others = fc.tuple(anyKeys(2), anyKeys(2), anyKeys(2));
  const greedy = fc.array(anyKeys(12), { maxLength: 12, size: 'max' });
  fc.assert(
    fc.property(others, greedy, fc.infiniteStream(fc.nat()), (needed, attack, order) => {
      const policies = [
        ...needed.map((keys, n) => [`other-${n}/web`, managed(...keys)] as const),
        ...attack.map((keys, n) => [`greedy/s${n}`, managed(...keys)] as const),
      ];
      const outcomes = [false, true].map((oneByOne) => {
        harness = new TopologyHarness({ maxNodeSets: 8 });
        const syncAll = () => {
          for (const { selector, state } of harness.topology.nodeSets.values()) {
            if (state === 'syncing') harness.sync(selector, 'edge-2');
          }
        };
        const shuffled = oneByOne
          ? policies.toSorted(() => ((order.next().value ?? 0) % 3) - 1)
          : policies;
        harness.settle(labels, oneByOne ? {} : Object.fromEntries(policies));
        if (oneByOne) for (const [key, policy] of shuffled) harness.setKeys(key, ...policy.keys);
        syncAll();
        syncAll();
        for (const [key, policy] of policies.filter(([name]) => name.startsWith('other'))) {
          expect(harness.topology.activePolicy(key)).toEqual(policy);
        }
        const watched = [...harness.topology.nodeSets.values()].filter(
          ({ state }) => state === 'synced',
        );
        return watched.map(({ selector }) => selector).sort();
      });
      expect(outcomes[1]).toEqual(outcomes[0]);
      expect(outcomes[0]?.length).toBeLessThanOrEqual(8);
    }),
  );
});

describe('waitsFor()', () => {
  beforeEach(() => {
    const communities = { nodeLabels: ['pool'], labelPrefix: 'c.x/', labelValues: [] };
    const topologyMatch = { ...PLAIN_TOPOLOGY.topologyMatch, communities };
    harness = new TopologyHarness({ topologyMatch });
    harness.settle({}, { 'default/web': managed(COMMUNITY, 'site') });
  });

  const waits = () => [...harness.topology.waitsFor('default/web')].sort();

  test('follows labels and communities of this node that change while others are pending', () => {
    harness.setOwnLabels({ pool: 'red' });
    expect(waits()).toEqual(['c.x/red=true', 'pool=red']);
    harness.setOwnLabels({ pool: 'blue', site: 'a' });
    expect(waits()).toEqual(['c.x/blue=true', 'pool=blue', 'site=a']);
    harness.topology.setCommunities(new Map([['ring', new Set(['edge-1', 'edge-2'])]]));
    expect(waits()).toEqual(['c.x/blue=true', 'c.x/ring=true', 'pool in (blue,ring)', 'site=a']);
    for (const selector of waits()) harness.sync(selector);
    expect(waits()).toEqual([]);
  });

  // Regression: the page calls it for each pending row, five times a second. Visiting all members took 0.4 s each time.
  test('does not visit the members of communities on each call', () => {
    let looks = 0;
    class Members extends Set<string> {
      override [Symbol.iterator]() {
        looks++;
        return super[Symbol.iterator]();
      }
    }
    harness.topology.setCommunities(new Map([['red', new Members(['edge-1', 'edge-2'])]]));
    expect(waits()).toEqual(['c.x/red=true', 'pool=red']);
    looks = 0;
    waits();
    expect(looks).toBe(0);
  });
});
