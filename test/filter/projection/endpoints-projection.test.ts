import { beforeEach, describe, expect, test } from '@jest/globals';
import { WrapperError } from '../../../src/errors.ts';
import type { EndpointsFacts } from '../../../src/filter/codec/codec.ts';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../../../src/filter/objects/resource.ts';
import type { ViewHandler } from '../../../src/filter/projection/batch.ts';
import {
  type EndpointsObject,
  fullGroupsOf,
  rawOf,
} from '../../../src/filter/projection/endpoint-index.ts';
import type { EndpointsProjection } from '../../../src/filter/projection/endpoints-projection.ts';
import type { View } from '../../../src/filter/view/view.ts';
import type { ManagedPolicy, Policy } from '../../../src/topology/policy/policy.ts';
import type { FoundNodes } from '../../../src/topology/state/node-lookups.ts';
import { winnerText } from '../../../src/topology/state/service-outcome.ts';
import type { Topology } from '../../../src/topology/state/topology.ts';
import type { ManualClock } from '../../support/clocks.ts';
import { addressesIn } from '../../support/codec/addresses-in.ts';
import { encodeObject } from '../../support/codec/encode-object.ts';
import { eventsSince } from '../../support/projection/events-since.ts';
import { type SliceEndpoint, sliceChange } from '../../support/projection/slice-change.ts';
import { startSliceProjection } from '../../support/projection/slice-projection.ts';

const HOST = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';
const codec = new ProtobufCodec();
const NEAR = { ip: '10.0.0.1', node: 'own' };
const FAR = { ip: '10.0.0.2', node: 'far' };
const OTHER_PROXY: Policy = { managed: false, reason: 'other-proxy' };
const ALONE = sliceChange(codec, { name: 'alone', service: '', endpoints: [FAR] });

let topology: Topology;
let view: View;
let clock: ManualClock;
let projection: EndpointsProjection;
let handler: ViewHandler<EndpointsFacts>;
/** Answers the look-up of Nodes. */
let found: (nodes: FoundNodes) => void;

beforeEach(() => start(ENDPOINT_SLICES));

function start(resource: Resource): void {
  ({ topology, view, clock, projection, handler, found } = startSliceProjection({ resource }));
  topology.setOwnNode({ labels: new Map([[ZONE, 'z']]), annotations: new Map() });
  setKeys(['default/web'], HOST);
  topology.setSynced('services');
}

function policy(...keys: string[]): ManagedPolicy {
  return { managed: true, keys, source: 'default' };
}

function setKeys(services: readonly string[], ...keys: string[]): void {
  topology.setPolicies(new Map(services.map((service) => [service, policy(...keys)])));
}

function slice(name: string, service: string, ...endpoints: SliceEndpoint[]) {
  return sliceChange(codec, { name, service, endpoints });
}

/** Addresses that are shown, by object. */
function shown(): Record<string, string[]> {
  return Object.fromEntries([...view.keys()].map((key) => [key, addressesIn(view.get(key))]));
}

describe('a slice of no Service', () => {
  test('is shown unchanged from the start, and is deleted with it', () => {
    handler.onChanges([ALONE]);
    handler.onSynced();
    expect(shown()).toEqual({ 'default/alone': ['10.0.0.2'] });
    handler.onChanges([slice('alone', '', NEAR)]);
    expect(shown()).toEqual({ 'default/alone': ['10.0.0.1'] });
    const { end } = view.log;
    handler.onChanges([slice('alone', '', NEAR)]);
    expect(view.log.end).toBe(end + 1);
    handler.onChanges([{ type: 'DELETED', key: 'default/alone' }]);
    expect(shown()).toEqual({});
  });

  test('is added, joins a Service, moves to another one and leaves it', () => {
    handler.onSynced();
    handler.onChanges([ALONE]);
    expect(shown()).toEqual({ 'default/alone': ['10.0.0.2'] });
    handler.onChanges([slice('alone', 'web', FAR)]);
    expect(shown()).toEqual({ 'default/alone': [] });
    handler.onChanges([slice('alone', 'other', FAR)]);
    expect(shown()).toEqual({ 'default/alone': ['10.0.0.2'] });
    handler.onChanges([slice('alone', 'web', FAR)]);
    handler.onChanges([slice('alone', '', FAR)]);
    expect(shown()).toEqual({ 'default/alone': ['10.0.0.2'] });
    expect([...projection.services()]).toEqual([]);
  });
});

describe('the events of one change', () => {
  let first: number;

  beforeEach(() => {
    setKeys(['default/web'], HOST, '*');
    handler.onChanges([replacing('a', 'u', NEAR), replacing('b', 'u', FAR)]);
    handler.onSynced();
    first = view.log.end;
  });

  function replacing(name: string, uid: string, endpoint: SliceEndpoint) {
    return sliceChange(codec, { name, service: 'web', uid, endpoints: [endpoint] }, 'ADDED');
  }

  const events = () => eventsSince(view, first);

  // kube-proxy may read between two events, and must find an endpoint that it can use.
  test('show a slice that gains ready endpoints before one that loses them', () => {
    handler.onChanges([slice('a', 'web', { ...NEAR, ready: false })]);
    expect(events()).toEqual(['MODIFIED b 10.0.0.2', 'MODIFIED a 10.0.0.1']);
  });

  test('show the other slices of a Service before they delete one that moves, and then add it', () => {
    handler.onChanges([slice('a', 'other', NEAR)]);
    const moved = ['MODIFIED b 10.0.0.2', 'DELETED a 10.0.0.1', 'ADDED a 10.0.0.1'];
    expect(events()).toEqual(moved);
  });

  test('do so too if the Service that it joins has changed before in the same batch', () => {
    handler.onChanges([slice('c', 'other', FAR), slice('a', 'other', NEAR)]);
    expect(events()[0]).toBe('MODIFIED b 10.0.0.2');
  });

  // kube-proxy would keep the endpoints in the old Service for ever: it files a slice by its newest label only.
  test('delete a slice with its old label and add it with its new one, whichever Services are filtered', () => {
    setKeys(['default/web', 'default/near'], HOST);
    const moves = ['web', 'near', 'web', 'plain', 'other', 'web', '', 'near', '', 'other', ''];
    handler.onChanges([slice('c', 'plain', FAR)]);
    first = view.log.end;
    for (const service of moves) handler.onChanges([slice('c', service, FAR)]);
    const labels = Array.from({ length: view.log.end - first }, (_, index) => {
      const { type = '', object = Buffer.alloc(0) } = view.log.at(first + index) ?? {};
      return `${type} ${codec.endpoints(ENDPOINT_SLICES, object).service}`;
    });
    const before = ['plain', ...moves];
    expect(labels).toEqual(
      moves.flatMap((service, index) => [`DELETED ${before[index]}`, `ADDED ${service}`]),
    );
  });

  test('delete each object that a list replaces only when its replacement is added', () => {
    const gone = ['a', 'b'].map((name) => ({ type: 'DELETED', key: `default/${name}` }) as const);
    const near = { ...FAR, node: 'own' };
    handler.onChanges([...gone, replacing('a', 'v', NEAR), replacing('b', 'v', near)]);
    const wanted = ['DELETED a 10.0.0.1', 'ADDED a 10.0.0.1', 'DELETED b', 'ADDED b 10.0.0.2'];
    expect(events()).toEqual(wanted);
  });

  test('show an object that is added and deleted both ways', () => {
    const added = replacing('c', 'u', { ...NEAR, ip: '10.0.0.3' });
    handler.onChanges([added, { type: 'DELETED', key: 'default/c' }]);
    expect(events()).toEqual(['ADDED c 10.0.0.3', 'DELETED c 10.0.0.3']);
  });

  test('have slices with endpoints before empty ones, if no endpoint is ready', () => {
    setKeys(['default/web'], ZONE);
    topology.nodeSets.get(`${ZONE}=z`)?.sync();
    handler.onChanges([slice('a', 'web', { ...NEAR, node: 'mid', zone: 'z', ready: false })]);
    handler.onChanges([slice('b', 'web', { ...FAR, zone: 'z2', ready: false })]);
    first = view.log.end;
    topology.setOwnNode({ labels: new Map([[ZONE, 'z2']]), annotations: new Map() });
    topology.nodeSets.get(`${ZONE}=z2`)?.sync();
    expect(events()).toEqual(['MODIFIED b 10.0.0.2', 'MODIFIED a']);
  });
});

test('a slice that is shown since the start is not sent again if its Service is decided again', () => {
  handler.onChanges([slice('other-a', 'other', FAR)]);
  handler.onSynced();
  expect(projection.copiedBytes).toBe(0);
  const { end } = view.log;
  topology.setPolicies(new Map([['default/other', { managed: false, reason: 'headless' }]]));
  setKeys(['default/other'], '*');
  topology.setPolicies(new Map([['default/other', undefined]]));
  expect([view.log.end - end, projection.counters.suppressed]).toEqual([0, 0]);
});

describe('a slice that is shown as it is', () => {
  const names = Array.from({ length: 100 }, (_, index) => `s${index}`);
  const inspected = () => projection.inspect('default/s7').objects[0] as EndpointsObject;

  beforeEach(() => {
    handler.onChanges(names.map((name) => slice(name, name, NEAR, FAR)));
    handler.onSynced();
    expect(view.state().list.bytes).toBeGreaterThan(5_000);
  });

  test('is kept once, also as a part of a list', () => {
    expect([inspected().raw, projection.copiedBytes]).toEqual([undefined, 0]);
    expect(rawOf(inspected(), view)).toEqual(view.get('default/s7'));
  });

  test.each([
    ['cut', () => setKeys(['default/s7'], HOST), ['10.0.0.1']],
    ['hidden', () => topology.setPolicies(new Map([['default/s7', OTHER_PROXY]])), undefined],
  ])('is %s without keeping the list, and then shown again', (_, change, addresses) => {
    const { buffer } = view.get('default/s7') as Buffer;
    change();
    expect(shown()['default/s7']).toEqual(addresses);
    expect(inspected().raw?.toString('latin1')).toContain('10.0.0.2');
    expect(inspected().raw?.buffer).not.toBe(buffer);
    topology.setPolicies(new Map([['default/s7', undefined]]));
    expect(shown()['default/s7']).toEqual(['10.0.0.1', '10.0.0.2']);
    expect([inspected().raw, projection.copiedBytes]).toEqual([undefined, 0]);
  });

  test('is not shown again by a view that was closed meanwhile', () => {
    view.close(new WrapperError('LimitExceeded', 'no room'));
    handler.onChanges([slice('sibling', 's7', FAR)]);
    expect(shown()).toEqual({ 'default/sibling': ['10.0.0.2'] });
    expect(fullGroupsOf(inspected(), view)).toEqual([]);
  });
});

// kubernetes/kubernetes#105172: a slice of domain names beside others. The names counted, so that a Service without a
// usable endpoint was well, and one with a near endpoint was not.
test('a slice of domain names is shown unchanged, and its endpoints count for nothing', () => {
  const names = (ip: string) =>
    sliceChange(codec, {
      name: 'b',
      service: 'web',
      addressType: 'FQDN',
      ports: ['http'],
      endpoints: [{ ip, node: 'own' }],
    });
  const outcome = () => projection.outcomes().next().value;
  handler.onChanges([slice('a', 'web', FAR), names('one.example')]);
  handler.onSynced();
  expect(shown()).toEqual({ 'default/a': [], 'default/b': [] });
  expect(view.get('default/b')?.toString('latin1')).toContain('one.example');
  expect(outcome()).toMatchObject({ total: 1, kept: 0, problem: 'withoutEndpoints' });
  handler.onChanges([slice('a', 'web', NEAR), names('two.example')]);
  expect(view.get('default/b')?.toString('latin1')).toContain('two.example');
  expect(outcome()).toMatchObject({ total: 1, kept: 1, problem: undefined });
});

test('slices of different lengths are each cut at their own endpoints', () => {
  const far = { ip: '10.0.0.3', node: 'far' };
  const near = { ip: '10.0.0.4', node: 'own' };
  // What is kept of them differs only before the first endpoint that is kept.
  handler.onChanges([
    slice('a', 'web', FAR, NEAR),
    slice('b', 'web', far, { ip: '10.0.0.5', node: 'far' }, near),
  ]);
  handler.onSynced();
  expect(shown()).toEqual({ 'default/a': [NEAR.ip], 'default/b': [near.ip] });
});

test('hints that are added to a slice, and nothing else, are cut if a policy selects its endpoints', () => {
  const south = slice('c', '', { ...NEAR, hint: 'south' });
  handler.onChanges([slice('a', 'web', NEAR), slice('b', '', NEAR), south]);
  handler.onSynced();
  const north = { ...NEAR, hint: 'north' };
  handler.onChanges([slice('a', 'web', north), slice('b', '', north)]);
  const zones = [...view.keys()].map(
    (key) =>
      view
        .get(key)
        ?.toString('latin1')
        .match(/north|south/)?.[0],
  );
  expect(zones).toEqual([undefined, 'north', 'south']);
});

test('a node remains indexed for a Service when one of its slices or another Service on it is deleted', () => {
  topology.setOwnNode({ labels: new Map([['site', 'a']]), annotations: new Map() });
  setKeys(['default/web'], 'site');
  topology.nodeSets.get('site=a')?.sync();
  handler.onChanges([slice('a', 'web', FAR), slice('b', 'web', FAR), slice('c', 'other', FAR)]);
  handler.onSynced();
  handler.onChanges([{ type: 'DELETED', key: 'default/a' }]);
  handler.onChanges([{ type: 'DELETED', key: 'default/c' }]);
  topology.nodeSets.get('site=a')?.change(['far'], []);
  expect(shown()).toEqual({ 'default/b': ['10.0.0.2'] });
});

test('an Endpoints object is cut subset by subset, and a change of its last subset counts', () => {
  start(ENDPOINTS);
  const put = (...nodes: string[]) => {
    const metadata = { namespace: 'default', name: 'web' };
    const subsets = nodes.map((nodeName, index) => ({
      addresses: [NEAR, FAR]
        .map(({ ip, node }) => ({ ip, nodeName: node }))
        .concat({
          ip: `10.0.0.${index + 3}`,
          nodeName,
        }),
      ports: [{ port: 80 + index }],
    }));
    const object = encodeObject('protobuf', 'Endpoints', { metadata, subsets });
    const facts = codec.endpoints(ENDPOINTS, object);
    handler.onChanges([{ type: 'MODIFIED', key: 'default/web', facts, object }]);
  };
  put('far', 'own');
  handler.onSynced();
  expect(shown()).toEqual({ 'default/web': ['10.0.0.1', '10.0.0.1', '10.0.0.4'] });
  put('far', 'far');
  expect(shown()).toEqual({ 'default/web': ['10.0.0.1', '10.0.0.1'] });
  expect(projection.copiedBytes).toBe(view.get('default/web')?.length);
  handler.onChanges([{ type: 'DELETED', key: 'default/web' }]);
  expect(projection.copiedBytes).toBe(0);
});

test('watchers are notified of many changed Services early, and then in portions', () => {
  const names = Array.from({ length: 1_100 }, (_, index) => `s${index}`);
  handler.onChanges(names.map((name) => slice(name, name, FAR)));
  handler.onSynced();
  const services = names.map((name) => `default/${name}`);
  const commits: number[] = [];
  view.log.subscribe(() => commits.push(view.log.end));
  setKeys(services, HOST);
  expect(commits).toEqual([32, 64, 128, 256, 512, 1_024, 1_100]);
  setKeys(services, '*');
  expect(projection.counters.injected).toBe(2_200);
});

// The dashboard had them in its title, and the counter did not.
test('an event of a slice counts as injected if another slice, the topology or a policy caused it', () => {
  setKeys(['default/web'], HOST, '*');
  handler.onChanges([slice('a', 'web', NEAR), slice('b', 'web', FAR)]);
  handler.onSynced();
  const injectedBy = (...changes: Parameters<typeof handler.onChanges>[0]) => {
    const before = projection.counters.injected;
    handler.onChanges(changes);
    return projection.counters.injected - before;
  };
  const unready = slice('a', 'web', { ...NEAR, ready: false });
  expect(injectedBy(unready)).toBe(1);
  expect(shown()['default/b']).toEqual(['10.0.0.2']);
  // The API server has changed both, or what it has changed alters no other.
  expect(injectedBy(slice('a', 'web', NEAR), slice('b', 'web', FAR))).toBe(0);
  expect(injectedBy(slice('b', 'web', { ...FAR, ip: '10.0.0.9' }))).toBe(0);
  expect(injectedBy(slice('c', 'web', FAR), slice('alone', '', FAR))).toBe(0);
  expect(injectedBy({ type: 'DELETED', key: 'default/a' })).toBe(2);
  setKeys(['default/web'], HOST);
  topology.setPolicies(new Map([['default/web', OTHER_PROXY]]));
  expect(projection.counters.injected).toBe(1 + 2 + 2 + 2);
});

test('a Service without endpoints has no answer', () => {
  handler.onChanges([slice('a', 'web', NEAR), slice('b', 'other', NEAR)]);
  handler.onSynced();
  const decided = () => [...projection.outcomes()].map(winnerText);
  expect(decided()).toEqual([HOST, 'unknown-service']);
  handler.onChanges([{ type: 'DELETED', key: 'default/a' }]);
  expect(decided()).toEqual(['unknown-service', 'none']);
  expect(projection.inspect('default/web').ageMs).toBeUndefined();
});

test('an object that has the name of a Service, and belongs to none, is told from one that belongs to it', () => {
  handler.onChanges([slice('web', '', NEAR), slice('other', 'other', NEAR)]);
  handler.onSynced();
  const isUnlabelled = (service: string) => projection.inspect(service).isUnlabelled;
  expect(['default/web', 'default/other', 'default/none'].map(isUnlabelled)).toEqual([
    true,
    false,
    false,
  ]);
});

test('the age of a decision is that of its keys, whatever endpoints they match', () => {
  handler.onChanges([slice('a', 'web', NEAR)]);
  handler.onSynced();
  const age = () => projection.inspect('default/web').ageMs;
  clock.pass(1_000);
  handler.onChanges([slice('a', 'web', NEAR, { ...NEAR, ip: '10.0.0.3' })]);
  expect(age()).toBe(1_000);
  setKeys(['default/web'], '*');
  expect(age()).toBe(0);
});

test('a slice that moves to another Service is one of its old Service no longer', () => {
  handler.onChanges([slice('a', 'web', NEAR), slice('b', 'web', NEAR)]);
  handler.onSynced();
  handler.onChanges([slice('a', 'other', FAR)]);
  const total = (service: string) => projection.inspect(service).outcome.total;
  expect([total('default/web'), total('default/other')]).toEqual([1, 1]);
  expect(shown()).toEqual({ 'default/a': ['10.0.0.2'], 'default/b': ['10.0.0.1'] });
});

test('a change that alters no decision is shown', () => {
  handler.onChanges([slice('a', 'web', NEAR)]);
  handler.onSynced();
  handler.onChanges([slice('a', 'web', { ...NEAR, pod: 'web-1' })]);
  expect(view.get('default/a')?.includes('web-1')).toBe(true);
});

test('no view starts before the Nodes are looked up that only slices put into the zone', () => {
  setKeys(['default/web'], ZONE);
  handler.onChanges([slice('a', 'web', { ...FAR, zone: 'z' })]);
  handler.onSynced();
  topology.nodeSets.get(`${ZONE}=z`)?.sync();
  expect(view.started).toBe(false);
  found({ zones: new Map([['far', 'y']]) });
  expect(shown()).toEqual({ 'default/a': [] });
});

test('more endpoints of a Service without a policy are not another decision', () => {
  handler.onChanges([slice('a', 'other', NEAR)]);
  handler.onSynced();
  handler.onChanges([slice('a', 'other', NEAR, FAR)]);
  expect(projection.inspect('default/other').outcome).toMatchObject({ kept: 2, total: 2 });
  expect(projection.journal.count).toBe(0);
});

test('only decided Services are reported to the topology as withheld or not', () => {
  handler.onChanges([slice('a', 'web', NEAR), slice('b', 'other', NEAR)]);
  handler.onSynced();
  const reported: (readonly string[])[] = [];
  const setWithheld = topology.setWithheld.bind(topology);
  topology.setWithheld = (services) => {
    if (services.size > 0) reported.push([...services.keys()]);
    setWithheld(services);
  };
  handler.onChanges([slice('a', 'web', FAR)]);
  handler.onChanges([slice('b', 'other', FAR)]);
  expect(reported).toEqual([['default/web'], ['default/other']]);
});

test('a closed projection changes nothing', () => {
  topology.setPolicies(new Map([['default/web', policy(ZONE, '*')] as const]));
  handler.onChanges([slice('a', 'web', FAR)]);
  topology.nodeSets.get(`${ZONE}=z`)?.sync();
  handler.onSynced();
  topology.nodeSets.get(`${ZONE}=z`)?.change(['far'], []);
  const { end } = view.log;
  handler.close();
  setKeys(['default/web'], HOST);
  expect(view.log.end).toBe(end);
});
