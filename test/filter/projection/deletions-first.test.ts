import { beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { Change } from '../../../src/filter/codec/change.ts';
import type { ServiceFacts } from '../../../src/filter/codec/codec.ts';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import { createProtobufCodec } from '../../../src/filter/codec/protobuf/codec.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../../src/filter/codec/resource.ts';
import { Departures } from '../../../src/filter/projection/deletions-first.ts';
import { EndpointsProjection } from '../../../src/filter/projection/endpoints-projection.ts';
import { PlainProjection } from '../../../src/filter/projection/plain-projection.ts';
import { ServicesProjection } from '../../../src/filter/projection/services-projection.ts';
import { VersionClock } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import { ServicesFeed } from '../../../src/proxy/cluster/services-handler.ts';
import { PolicyBook } from '../../../src/topology/policy/policy-resolver.ts';
import { World } from '../../../src/topology/state/topology.ts';
import { type SliceEndpoint, sliceChange } from '../../support/projection/slice-change.ts';
import { ManualClock, NO_POLICY, PLAIN_WORLD } from '../../support/projection/topology.ts';

const json = createJsonCodec();
const protobuf = createProtobufCodec();
const clock = new VersionClock(0);
const window = { entries: 1000, bytes: 1 << 20 };
const NEAR = { ip: '10.0.0.1', node: 'own' };
const CLOUD = { ip: '10.0.0.2', node: 'cloud' };
const KEYS = '["kubernetes.io/hostname","kube-proxy-wrapper.io/cloud"]';

const serviceFilter = { label: 'mesh', hides: 'labelled' } as const;

let world: World;
let services: View;
let slices: View;
let endpoints: EndpointsProjection;
let feed: ServicesFeed;
/** Events of both views as their watchers hear of them, `kind TYPE`. */
let heard: string[];

beforeEach(() => {
  openWorld({ cloudPassthrough: true });
  openSlices({ tellsWithheld: true });
});

function openWorld({ cloudPassthrough }: { cloudPassthrough: boolean }): void {
  world = new World({ ...PLAIN_WORLD, nodeName: 'own', cloudPassthrough });
  const book = new PolicyBook({ ...NO_POLICY, serviceFilter });
  feed = new ServicesFeed({ world, book, logger: pino({ level: 'silent' }) });
  services = new View({ resource: SERVICES, codec: json, clock, window });
  slices = new View({ resource: ENDPOINT_SLICES, codec: protobuf, clock, window });
  heard = [];
  world.setOwnNode({
    labels: new Map([['node-role.kubernetes.io/edge', '']]),
    annotations: new Map(),
  });
}

function openSlices({ tellsWithheld }: { tellsWithheld: boolean }): void {
  const time = new ManualClock();
  endpoints = new EndpointsProjection({ view: slices, world, clock: time, tellsWithheld });
}

/** The Services view of a wrapper that hides some of them. */
function hiding({ followsWithheld } = { followsWithheld: true }): ServicesProjection {
  return new ServicesProjection({ view: services, world, serviceFilter, feed, followsWithheld });
}

function service(
  labels: Record<string, string> = {},
  uid = 'u',
  annotations: Record<string, string> = { topologyKeys: KEYS },
): Change<ServiceFacts> {
  const metadata = { namespace: 'default', name: 'web', uid, resourceVersion: '1' };
  const object = Buffer.from(
    JSON.stringify({ metadata: { ...metadata, labels, annotations }, spec: {} }),
  );
  return { type: 'MODIFIED', key: 'default/web', facts: json.service(object), object };
}

function slice(...all: SliceEndpoint[]) {
  return sliceChange(protobuf, { name: 'a', service: 'web', endpoints: all });
}

function listen(): void {
  for (const [kind, view] of Object.entries({ service: services, slice: slices })) {
    let at = view.log.end;
    view.log.subscribe(() => {
      for (; at < view.log.end; at++) heard.push(`${kind} ${view.log.at(at)?.type}`);
    });
  }
}

function answer(): void {
  for (const [selector, { state }] of world.nodeSets) {
    if (state === 'synced') continue;
    world.changeNodeSet(selector, ['cloud'], []);
    world.setNodeSetState(selector);
  }
}

/** Both views as they are served, all node sets answered. */
function start(): ServicesProjection {
  const projection = hiding();
  projection.changed([service()]);
  projection.synced();
  endpoints.changed([slice(NEAR, CLOUD)]);
  endpoints.synced();
  answer();
  listen();
  return projection;
}

test('a Service whose traffic becomes the cloud\u2019s goes before its slices, and comes back after them', () => {
  start();
  endpoints.changed([slice({ ...NEAR, ready: false }, CLOUD)]);
  expect(heard).toEqual(['service DELETED', 'slice DELETED']);
  heard = [];
  endpoints.changed([slice(NEAR, CLOUD)]);
  expect(heard).toEqual(['slice ADDED', 'service ADDED']);
});

test('a Service whose own change leaves it to the cloud goes before its slices, and comes back after them', () => {
  const projection = start();
  projection.changed([service({}, 'u', {})]);
  endpoints.changed([slice(CLOUD)]);
  // Its nodes stay known: somebody else asks for the cloud too.
  const policy = {
    managed: true,
    keys: ['kube-proxy-wrapper.io/cloud'],
    source: 'default',
  } as const;
  world.setPolicies(new Map([['default/db', policy]]));
  answer();
  heard = [];
  projection.changed([service()]);
  expect(heard).toEqual(['service DELETED', 'slice DELETED']);
  heard = [];
  projection.changed([service({}, 'u', {})]);
  expect(heard).toEqual(['slice ADDED', 'service ADDED']);
});

test('a Service that is left to another proxy goes before its slices, and comes back after them', () => {
  const projection = start();
  projection.changed([service({ mesh: '' })]);
  expect(heard).toEqual(['service DELETED', 'slice DELETED']);
  heard = [];
  projection.changed([service()]);
  answer();
  expect(heard).toEqual(['slice ADDED', 'service ADDED']);
});

test('a Service that is deleted goes before its slices show endpoints that its policy cut', () => {
  start().changed([{ type: 'DELETED', key: 'default/web' }]);
  expect(heard).toEqual(['service DELETED', 'slice MODIFIED']);
});

test('where no Service is hidden, too', () => {
  const sinks = [new Departures<ServiceFacts>(services), feed, new PlainProjection(services)];
  const tell = (changes: readonly Change<ServiceFacts>[]) => {
    for (const sink of sinks) sink.changed(changes);
  };
  tell([service()]);
  for (const sink of sinks) sink.synced();
  endpoints.changed([slice(NEAR, CLOUD)]);
  endpoints.synced();
  answer();
  listen();
  tell([{ type: 'DELETED', key: 'default/web' }]);
  expect(heard).toEqual(['service DELETED', 'slice MODIFIED']);
});

test('a Service that changes, or comes, and goes at once does not go twice', () => {
  const projection = start();
  const gone = { type: 'DELETED', key: 'default/web' } as const;
  projection.changed([service({ a: '' }), gone]);
  expect(heard.filter((event) => event.startsWith('service'))).toEqual([
    'service MODIFIED',
    'service DELETED',
  ]);
  heard = [];
  projection.changed([service(), gone]);
  expect(heard).toEqual(['service ADDED', 'service DELETED']);
});

test('a Service that is replaced leaves no state in between', () => {
  const projection = start();
  const commits: number[] = [];
  services.log.subscribe(() => commits.push(services.size));
  projection.changed([{ type: 'DELETED', key: 'default/web' }, service({}, 'v')]);
  expect(commits).toEqual([1]);
  expect(heard).toEqual(['service DELETED', 'service ADDED']);
});

describe.each([
  { cloudPassthrough: false, opened: ['slices', 'Services'] },
  { cloudPassthrough: false, opened: ['Services', 'slices'] },
  { cloudPassthrough: true, opened: ['slices', 'Services'] },
  { cloudPassthrough: true, opened: ['Services', 'slices'] },
])('with cloudPassthrough: $cloudPassthrough, first open: $opened.0', (given) => {
  const { cloudPassthrough, opened } = given;
  let projection: ServicesProjection;

  beforeEach(() => {
    openWorld({ cloudPassthrough });
    for (const kind of opened) {
      if (kind === 'slices') openSlices({ tellsWithheld: cloudPassthrough });
      else projection = hiding({ followsWithheld: cloudPassthrough });
    }
    projection.synced();
    endpoints.changed([slice(NEAR, CLOUD)]);
    endpoints.synced();
    listen();
  });

  test('a Service that waits for node sets comes after its slices, new or back from another proxy', () => {
    projection.changed([service()]);
    heard = [];
    answer();
    expect(heard).toEqual(['slice ADDED', 'service ADDED']);
    projection.changed([service({ mesh: '' })]);
    for (const selector of [...world.nodeSets.keys()]) world.dropNodeSet(selector);
    heard = [];
    projection.changed([service()]);
    expect(heard).toEqual([]);
    answer();
    expect(heard).toEqual(['slice ADDED', 'service ADDED']);
  });

  test('so does one with the zone key, which waits for no nodes', () => {
    const zone = 'topology.kubernetes.io/zone';
    world.setOwnNode({ labels: new Map([[zone, 'z1']]), annotations: new Map() });
    projection.changed([service({ mesh: '' })]);
    heard = [];
    projection.changed([service({}, 'u', { topologyKeys: `["${zone}"]` })]);
    expect(heard).toEqual(['slice ADDED', 'service ADDED']);
    heard = [];
    answer();
    expect(heard).toEqual(['slice MODIFIED']);
  });

  test('a Service whose dry run ends before its nodes are known goes before its slices', () => {
    const dryRun = { topologyKeys: KEYS, 'kube-proxy-wrapper.io/filter': 'dry-run' };
    projection.changed([service({}, 'u', dryRun)]);
    expect(heard).toEqual(['service ADDED']);
    heard = [];
    projection.changed([service()]);
    expect(heard).toEqual(['service DELETED', 'slice DELETED']);
    heard = [];
    projection.changed([service({}, 'u', dryRun)]);
    expect(heard).toEqual(['slice ADDED', 'service ADDED']);
  });
});
