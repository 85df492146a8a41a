import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Endpoint } from '../../../src/topology/decide/endpoint.ts';
import type { ManagedPolicy, Policy } from '../../../src/topology/policy/policy.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import type { TopologyChange } from '../../../src/topology/state/topology-change.ts';
import { PLAIN_TOPOLOGY } from '../../support/projection/topology.ts';

function managed(...keys: string[]): ManagedPolicy {
  return { managed: true, keys, source: 'annotation' };
}

function labels(values: Record<string, string>): ReadonlyMap<string, string> {
  return new Map(Object.entries(values));
}

function on(node: string, zone = ''): Endpoint {
  return { family: 'IPv4', node, zone, state: 'ready' };
}

let topology: Topology;
let changes: TopologyChange[];
let wanted: string[];

beforeEach(() => {
  topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'edge-1' });
  changes = [];
  wanted = [];
  topology.subscribe({
    changed: (change) => changes.push(change),
    wanted: (selectors) => {
      wanted = [...selectors].sort();
    },
  });
});

/** Services touched since the last call. */
function touched(): string[] {
  const services = new Set(changes.flatMap((change) => [...change.services]));
  changes = [];
  return [...services].sort();
}

/** Nodes touched since the last call of {@link touched}, with the keys concerned. */
function touchedNodes(): Record<string, string[]> {
  const nodes = changes.flatMap((change) => [...change.nodes]);
  return Object.fromEntries(nodes.map(([node, keys]) => [node, [...keys]]));
}

/** Whether this node sees endpoints, by keys, one after the other. */
function sees(keys: string[], ...endpoints: Endpoint[]): boolean[] {
  return endpoints.map((endpoint) => {
    const { keep } = topology.decide([{ ports: [], endpoints: [endpoint] }], managed(...keys));
    return keep[0] === 1;
  });
}

function setOwn(own: Record<string, string>): void {
  topology.setOwnNode({ labels: labels(own), annotations: labels({}) });
}

function settle(own: Record<string, string>, policies: Record<string, Policy>): void {
  setOwn(own);
  topology.setPolicies(new Map(Object.entries(policies)));
  topology.setSynced('services');
}

describe('World', () => {
  test('hostname, zone of the endpoint and "*" ask for no other node', () => {
    settle(
      { 'topology.kubernetes.io/zone': 'z1' },
      { 'default/web': managed('kubernetes.io/hostname', 'topology.kubernetes.io/zone', '*') },
    );
    expect(wanted).toEqual([]);
    expect(topology.settled).toBe(true);
    expect(sees(['kubernetes.io/hostname'], on('edge-1'), on('edge-2'), on(''))).toEqual([
      true,
      false,
      false,
    ]);
    const zone = ['topology.kubernetes.io/zone'];
    expect(sees(zone, on('a', 'z1'), on('b', 'z2'), on('', 'z1'))).toEqual([true, false, false]);
    expect(sees(['*'], on(''), on('x', 'z9'))).toEqual([true, true]);
  });

  test('a label key asks for the nodes with the own value, and is in force once they are known', () => {
    settle({ site: 'a' }, { 'default/web': managed('site') });
    expect(wanted).toEqual(['site=a']);
    expect(topology.settled).toBe(false);
    expect(topology.policyInForce('default/web')).toBeUndefined();
    topology.changeNodeSet('site=a', ['edge-1', 'edge-2'], []);
    topology.setNodeSetState('site=a');
    expect(topology.settled).toBe(true);
    expect(touched()).toEqual(['default/web']);
    expect(sees(['site'], on('edge-1'), on('edge-2'), on('edge-3'))).toEqual([true, true, false]);
  });

  test('nothing is complete before all that has a say was told once, nor while this node moves', () => {
    const sources = { declaredCommunities: true, namespaces: true };
    const steps: (() => void)[] = [
      () => topology.setSynced('namespaces'),
      () => topology.setSynced('services'),
      () => setOwn({}),
      () => topology.setCommunities(new Map()),
    ];
    for (const last of steps) {
      topology = new Topology({ ...PLAIN_TOPOLOGY, ...sources, nodeName: 'edge-1' });
      for (const step of steps) if (step !== last) step();
      expect(topology.settled).toBe(false);
      last();
      expect(topology.settled).toBe(true);
    }
    topology.setPolicies(new Map([['default/web', managed('site')]]));
    setOwn({ site: 'a' });
    expect([topology.isMoving, topology.settled]).toEqual([true, false]);
    topology.setNodeSetState('site=a');
    expect([topology.isMoving, topology.settled]).toEqual([false, true]);
  });

  test('a missing own label matches nothing, not even this node, and asks for nothing', () => {
    settle({}, { 'default/web': managed('site') });
    expect(wanted).toEqual([]);
    expect(topology.settled).toBe(true);
    expect(sees(['site'], on('edge-1'), on('edge-2'))).toEqual([false, false]);
  });

  test('an empty label value is a value', () => {
    settle({ site: '' }, { 'default/web': managed('site') });
    expect(wanted).toEqual(['site=']);
    expect(sees(['site'], on('edge-1'))).toEqual([true]);
  });

  test('when an own label changes, the old answer stands until the new nodes are known', () => {
    settle({ site: 'a' }, { 'default/web': managed('site'), 'default/db': managed('*') });
    topology.changeNodeSet('site=a', ['edge-1', 'edge-2'], []);
    topology.setNodeSetState('site=a');
    touched();

    setOwn({ site: 'b' });
    expect(wanted).toEqual(['site=a', 'site=b']);
    expect(touched()).toEqual([]);
    expect(sees(['site'], on('edge-2'), on('edge-3'))).toEqual([true, false]);
    topology.changeNodeSet('site=b', ['edge-1', 'edge-3'], []);
    expect(sees(['site'], on('edge-2'), on('edge-3'))).toEqual([true, false]);

    topology.setNodeSetState('site=b');
    expect(sees(['site'], on('edge-2'), on('edge-3'))).toEqual([false, true]);
    // Only Services with an endpoint on these can look different; the own node is in both sets.
    expect(touchedNodes()).toEqual({ 'edge-2': ['site'], 'edge-3': ['site'] });
    expect(changes.some(({ ownNode }) => ownNode)).toBe(true);
    expect(touched()).toEqual([]);
    expect(wanted).toEqual(['site=b']);
  });

  test('a node set that this node itself enters or leaves touches nothing: its own Node tells', () => {
    settle({ site: 'a' }, { 'default/web': managed('site') });
    topology.changeNodeSet('site=a', ['edge-2'], []);
    topology.setNodeSetState('site=a');
    touched();

    topology.changeNodeSet('site=a', ['edge-1'], []);
    topology.changeNodeSet('site=a', [], ['edge-1']);
    expect(changes).toEqual([]);
    expect(sees(['site'], on('edge-1'), on('edge-2'))).toEqual([true, true]);
    topology.changeNodeSet('site=a', [], ['edge-1', 'edge-2']);
    expect(touchedNodes()).toEqual({ 'edge-2': ['site'] });
  });

  test('a label that changes back before its nodes are known changes nothing', () => {
    settle({ site: 'a' }, { 'default/web': managed('site') });
    topology.setNodeSetState('site=a');
    touched();
    setOwn({ site: 'b' });
    setOwn({ site: 'a' });
    expect(wanted).toEqual(['site=a']);
    expect(touched()).toEqual([]);
    expect(topology.settled).toBe(true);
  });

  test('own labels that no policy uses touch no Service', () => {
    settle({ site: 'a' }, { 'default/web': managed('site') });
    topology.setNodeSetState('site=a');
    touched();
    setOwn({ site: 'a', color: 'red' });
    expect(touched()).toEqual([]);
    expect(topology.settled).toBe(true);
  });

  test('a new policy waits for its nodes while the old one stands', () => {
    settle({ site: 'a' }, { 'default/web': managed('kubernetes.io/hostname') });
    topology.setPolicies(new Map([['default/web', managed('site')]]));
    expect(topology.policyInForce('default/web')).toMatchObject({
      keys: ['kubernetes.io/hostname'],
    });
    topology.setNodeSetState('site=a');
    expect(topology.policyInForce('default/web')).toMatchObject({ keys: ['site'] });
  });

  test('a node that enters or leaves a set is told with the key it matters to', () => {
    settle({ site: 'a' }, { 'default/web': managed('site') });
    topology.changeNodeSet('site=a', ['edge-1', 'edge-2'], []);
    topology.setNodeSetState('site=a');
    changes = [];
    topology.changeNodeSet('site=a', ['edge-4'], ['edge-2']);
    expect(changes).toHaveLength(1);
    expect([...(changes[0]?.nodes ?? [])]).toEqual([
      ['edge-4', new Set(['site'])],
      ['edge-2', new Set(['site'])],
    ]);
    expect(sees(['site'], on('edge-2'), on('edge-4'))).toEqual([false, true]);
  });

  test('a node that matters to several keys is told with all of them', () => {
    const own = { site: 'a', rack: 'a1' };
    settle(own, { 'default/web': managed('site'), 'default/db': managed('rack') });
    for (const selector of wanted) topology.setNodeSetState(selector);
    for (const selector of wanted) topology.changeNodeSet(selector, ['edge-2'], []);
    setOwn({ site: 'b', rack: 'b1' });
    changes = [];
    for (const selector of wanted) topology.setNodeSetState(selector);
    expect(touchedNodes()).toEqual({ 'edge-2': ['site', 'rack'] });
  });

  test('nodes are no longer asked for when the last policy that needs them goes', () => {
    settle({ site: 'a' }, { 'default/web': managed('site'), 'default/db': managed('site') });
    topology.setNodeSetState('site=a');
    topology.setPolicies(new Map([['default/web', undefined]]));
    expect(wanted).toEqual(['site=a']);
    topology.setPolicies(new Map([['default/db', managed('*')]]));
    expect(wanted).toEqual([]);
    expect(touched()).toEqual(['default/db', 'default/web']);
  });

  test('a Service that goes, and lets a change of this node in, lets in a policy that waits for that', () => {
    settle({ site: 'a', rack: 'x' }, { 'default/web': managed('site') });
    topology.setNodeSetState('site=a');
    topology.setPolicies(new Map([['default/db', managed('rack')]]));
    setOwn({ site: 'b' });
    expect(wanted).toEqual(['rack=x', 'site=a', 'site=b']);
    topology.setPolicies(new Map([['default/web', undefined]]));
    expect(topology.settled).toBe(true);
    expect(topology.policyInForce('default/db')).toMatchObject({ keys: ['rack'] });
    expect(wanted).toEqual([]);
  });

  test('a policy that comes back while its nodes linger is in force without a wait', () => {
    settle({ site: 'a' }, { 'default/web': managed('site') });
    topology.changeNodeSet('site=a', ['edge-2'], []);
    topology.setNodeSetState('site=a');
    topology.setPolicies(new Map([['default/web', managed('*')]]));
    topology.changeNodeSet('site=a', ['edge-3'], ['edge-2']);
    topology.dropNodeSet('site=b');
    topology.setPolicies(new Map([['default/web', managed('site')]]));
    expect(topology.settled).toBe(true);
    expect(sees(['site'], on('edge-2'), on('edge-3'))).toEqual([false, true]);
    topology.dropNodeSet('site=a');
    expect(sees(['site'], on('edge-3'))).toEqual([true]);
    topology.setPolicies(new Map([['default/web', undefined]]));
    topology.dropNodeSet('site=a');
    expect(sees(['site'], on('edge-3'))).toEqual([false]);
    expect(topology.nodeSets.size).toBe(0);
  });

  test('with more node sets than maxNodeSets, those in use stay, and the next one is this node only', () => {
    topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'edge-1', maxNodeSets: 1 });
    settle({ site: 'a', rack: 'r' }, { 'default/web': managed('site') });
    topology.setNodeSetState('site=a');
    topology.changeNodeSet('site=a', ['edge-2'], []);
    topology.setPolicies(new Map([['default/db', managed('rack')]]));
    expect(topology.settled).toBe(true);
    expect(topology.nodeSets.get('rack=r')).toMatchObject({ state: 'overLimit', needed: true });
    expect(sees(['rack'], on('edge-1'), on('edge-2'))).toEqual([true, false]);
    expect(sees(['site'], on('edge-2'))).toEqual([true]);
    topology.setPolicies(new Map([['default/web', undefined]]));
    expect(topology.nodeSets.get('rack=r')).toMatchObject({ state: 'syncing', refusal: undefined });
    expect(topology.nodeSets.has('site=a')).toBe(false);
    topology.changeNodeSet('rack=r', ['edge-2'], []);
    expect(sees(['rack'], on('edge-2'))).toEqual([true]);
  });

  test('a refused node set leaves only this node, and says so', () => {
    settle({ site: 'a' }, { 'default/web': managed('site') });
    topology.setNodeSetState('site=a', 'nodes is forbidden');
    expect(topology.settled).toBe(true);
    expect(sees(['site'], on('edge-1'), on('edge-2'))).toEqual([true, false]);
    expect(topology.nodeSets.get('site=a')).toMatchObject({
      state: 'refused',
      refusal: 'nodes is forbidden',
    });
    topology.changeNodeSet('site=a', ['edge-2'], []);
    topology.setNodeSetState('site=a');
    expect(sees(['site'], on('edge-2'))).toEqual([true]);
    expect(topology.nodeSets.get('site=a')).toMatchObject({ state: 'synced', refusal: undefined });
  });

  test('a node set that was known keeps its nodes when the API server refuses later', () => {
    settle({ site: 'a' }, { 'default/web': managed('site') });
    topology.changeNodeSet('site=a', ['edge-2'], []);
    topology.setNodeSetState('site=a');
    topology.setNodeSetState('site=a', 'nodes is forbidden');
    expect(sees(['site'], on('edge-2'))).toEqual([true]);
    expect(topology.nodeSets.get('site=a')?.refusal).toBe('nodes is forbidden');
  });

  test('the zone asks for nodes only where an endpoint has no zone of its own', () => {
    const zone = 'topology.kubernetes.io/zone';
    settle({ [zone]: 'z1' }, { 'default/web': managed(zone), 'default/db': managed('*') });
    const view = {};
    topology.setServicesWithoutZone(view, [['default/db', true]]);
    expect(wanted).toEqual([]);
    topology.setServicesWithoutZone(view, [['default/web', true]]);
    expect(wanted).toEqual([`${zone}=z1`]);
    topology.setServicesWithoutZone(view, [['default/web', false]]);
    expect(wanted).toEqual([]);
  });

  test('nothing waits for the nodes of the zone: until they are known, an endpoint without one does not match', () => {
    const zone = 'topology.kubernetes.io/zone';
    settle({ [zone]: 'z1' }, { 'default/web': managed(zone) });
    touched();
    topology.setServicesWithoutZone({}, [['default/web', true]]);
    expect(changes).toEqual([]);
    expect([topology.settled, topology.waitsFor('default/web')]).toEqual([true, []]);
    expect(topology.policyInForce('default/web')).toMatchObject({ keys: [zone] });
    const endpoints = [on('edge-1'), on('edge-2'), on('edge-3'), on('edge-3', 'z1')];
    expect(sees([zone], ...endpoints)).toEqual([true, false, false, true]);
    topology.changeNodeSet(`${zone}=z1`, ['edge-2'], []);
    expect(touchedNodes()).toEqual({ 'edge-2': [zone] });
    topology.setNodeSetState(`${zone}=z1`);
    expect(sees([zone], ...endpoints, on('edge-2', 'z2'))).toEqual([
      true,
      true,
      false,
      true,
      false,
    ]);
    setOwn({ [zone]: 'z2' });
    expect(topology.settled).toBe(true);
    expect(sees([zone], ...endpoints)).toEqual([true, false, false, false]);
  });

  // Its first policy was forgotten without a trace in the index: the nodes of the zone were watched for ever.
  test('a policy that is replaced while it waits for the zone asks for nothing any more', () => {
    const zone = 'topology.kubernetes.io/zone';
    settle({ [zone]: 'z1', site: 'a' }, { 'default/web': managed(zone) });
    topology.setPolicies(new Map([['default/web', managed('site')]]));
    topology.setServicesWithoutZone({}, [['default/web', true]]);
    topology.setNodeSetState('site=a');
    expect(wanted).toEqual(['site=a']);
  });

  test('a policy that is replaced while it waits for its nodes asks for them no more', () => {
    settle({ site: 'a', rack: 'r' }, { 'default/web': managed('*') });
    topology.setPolicies(new Map([['default/web', managed('site')]]));
    topology.setPolicies(new Map([['default/web', managed('rack')]]));
    expect(wanted).toEqual(['rack=r']);
    expect([...topology.policies.keysInUse()]).toEqual(['*', 'rack']);
    topology.setPolicies(new Map([['default/web', managed('*')]]));
    expect(wanted).toEqual([]);
    expect(topology.settled).toBe(true);
  });

  test('a policy that waits touches no Service that has one, nor does one that says the same', () => {
    settle({ site: 'a' }, { 'default/web': managed('*') });
    touched();
    topology.setPolicies(new Map([['default/web', managed('*')]]));
    topology.setPolicies(new Map([['default/web', managed('site')]]));
    expect(touched()).toEqual([]);
    topology.setNodeSetState('site=a');
    expect(touched()).toEqual(['default/web']);
  });

  test('a node that left the zone while nobody asked for its nodes is not in it when somebody does again', () => {
    const zone = 'topology.kubernetes.io/zone';
    const policy = managed(zone);
    const view = {};
    const endpoint = on('edge-2');
    const seen = () => topology.decide([{ ports: [], endpoints: [endpoint] }], policy).keep[0];
    settle({ [zone]: 'z1' }, { 'default/web': policy });
    topology.setServicesWithoutZone(view, [['default/web', true]]);
    topology.changeNodeSet(`${zone}=z1`, ['edge-2'], []);
    topology.setNodeSetState(`${zone}=z1`);
    expect(seen()).toBe(1);
    topology.setServicesWithoutZone(view, [['default/web', false]]);
    topology.dropNodeSet(`${zone}=z1`);
    topology.setServicesWithoutZone(view, [['default/web', true]]);
    topology.setNodeSetState(`${zone}=z1`);
    expect(seen()).toBe(0);
  });

  test('a Service that nobody knows is left alone', () => {
    settle({}, {});
    expect(topology.policyInForce('default/nobody')).toMatchObject({
      reason: 'unknown-service',
    });
  });

  test('counts Services by what applies to them', () => {
    settle(
      {},
      { 'default/web': managed('*'), 'default/db': { managed: false, reason: 'headless' } },
    );
    expect(Object.fromEntries(topology.policies.countByKind())).toEqual({
      annotation: 1,
      headless: 1,
    });
  });

  test('a node that is switched off waits for nothing, asks for nothing, and sees everything', () => {
    settle({ site: 'a' }, { 'default/web': managed('site') });
    expect(topology.settled).toBe(false);
    const off = new Map([['kube-proxy-wrapper.io/filter', 'off']]);
    topology.setOwnNode({ labels: labels({ site: 'b' }), annotations: off });
    expect(topology.settled).toBe(true);
    expect(wanted).toEqual([]);
    expect(topology.policyInForce('default/web')).toEqual({
      managed: false,
      reason: 'node-off',
    });

    setOwn({ site: 'b' });
    expect(wanted).toEqual(['site=b']);
    expect(topology.policyInForce('default/web')).toEqual({
      managed: false,
      reason: 'node-off',
    });
    topology.setNodeSetState('site=b');
    expect(topology.policyInForce('default/web')).toMatchObject({ managed: true });
  });
});

describe('what this node waits for', () => {
  const community = 'kube-proxy-wrapper.io/community';
  const pools = { nodeLabels: ['pool'], labelPrefix: 'c.x/', labelValues: [] };

  beforeEach(() => {
    const topologyMatch = { ...PLAIN_TOPOLOGY.topologyMatch, communities: pools };
    topology = new Topology({ ...PLAIN_TOPOLOGY, topologyMatch, nodeName: 'edge-1' });
    settle({}, { 'default/web': managed(community, 'site') });
  });

  const waits = () => [...topology.waitsFor('default/web')].sort();

  test('follows its labels and its communities, whichever change while others wait', () => {
    setOwn({ pool: 'red' });
    expect(waits()).toEqual(['c.x/red=true', 'pool=red']);
    setOwn({ pool: 'blue', site: 'a' });
    expect(waits()).toEqual(['c.x/blue=true', 'pool=blue', 'site=a']);
    topology.setCommunities(new Map([['ring', new Set(['edge-1', 'edge-2'])]]));
    expect(waits()).toEqual(['c.x/blue=true', 'c.x/ring=true', 'pool in (blue,ring)', 'site=a']);
    topology.setCommunities(new Map());
    expect(waits()).toEqual(['c.x/blue=true', 'pool=blue', 'site=a']);
  });

  test('is what comes into force once it is known, and is not waited for then', () => {
    setOwn({ pool: 'red' });
    expect(waits()).toEqual(['c.x/red=true', 'pool=red']);
    topology.setCommunities(new Map([['red', new Set(['edge-1', 'edge-2'])]]));
    topology.setNodeSetState('pool=red');
    expect(waits()).toEqual(['c.x/red=true']);
    expect(sees([community], on('edge-1'), on('edge-2'))).toEqual([false, false]);
    topology.changeNodeSet('c.x/red=true', ['edge-3'], []);
    topology.setNodeSetState('c.x/red=true');
    expect(waits()).toEqual([]);
    expect(sees([community], on('edge-1'), on('edge-2'), on('edge-3'))).toEqual([true, true, true]);
    setOwn({});
    topology.setCommunities(new Map());
    expect(sees([community], on('edge-1'), on('edge-2'), on('edge-3'))).toEqual([
      false,
      false,
      false,
    ]);
  });

  // The page asks for each row that waits, five times a second: to go through all members took 0.4 s each time.
  test('is not made anew from the members of communities each time it is asked for', () => {
    let looks = 0;
    class Members extends Set<string> {
      override [Symbol.iterator]() {
        looks++;
        return super[Symbol.iterator]();
      }
    }
    topology.setCommunities(new Map([['red', new Members(['edge-1', 'edge-2'])]]));
    expect(waits()).toEqual(['c.x/red=true', 'pool=red']);
    looks = 0;
    waits();
    expect(looks).toBe(0);
  });
});
