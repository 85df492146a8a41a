import { beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { Change } from '../../../src/filter/codec/change.ts';
import type { ServiceFacts } from '../../../src/filter/codec/codec.ts';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import { createProtobufCodec } from '../../../src/filter/codec/protobuf/codec.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../../src/filter/codec/resource.ts';
import { DeletionsFirst } from '../../../src/filter/projection/deletions-first.ts';
import { EndpointsProjection } from '../../../src/filter/projection/endpoints-projection.ts';
import { PlainProjection } from '../../../src/filter/projection/plain-projection.ts';
import { ServicesProjection } from '../../../src/filter/projection/services-projection.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import { ServicesHandler } from '../../../src/proxy/cluster/services-handler.ts';
import { PolicyResolver } from '../../../src/topology/policy/policy-resolver.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { type SliceEndpoint, sliceChange } from '../../support/projection/slice-change.ts';
import { ManualClock, NO_POLICY, PLAIN_TOPOLOGY } from '../../support/projection/topology.ts';

const json = createJsonCodec();
const protobuf = createProtobufCodec();
const clock = new VersionAllocator(0);
const window = { entries: 1000, bytes: 1 << 20 };
const NEAR = { ip: '10.0.0.1', node: 'own' };
const CLOUD = { ip: '10.0.0.2', node: 'cloud' };
const KEYS = '["kubernetes.io/hostname","kube-proxy-wrapper.io/cloud"]';

const serviceFilter = { label: 'mesh', hides: 'labelled' } as const;

let topology: Topology;
let services: View;
let slices: View;
let endpoints: EndpointsProjection;
let feed: ServicesHandler;
/** Events of both views as their watchers hear of them, `kind TYPE`. */
let heard: string[];

beforeEach(() => {
  openWorld({ cloudPassthrough: true });
  openSlices({ tellsCloudOnly: true });
});

function openWorld({ cloudPassthrough }: { cloudPassthrough: boolean }): void {
  topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'own', cloudPassthrough });
  const book = new PolicyResolver({ ...NO_POLICY, serviceFilter });
  feed = new ServicesHandler({ topology, book, logger: pino({ level: 'silent' }) });
  services = new View({ resource: SERVICES, codec: json, clock, window });
  slices = new View({ resource: ENDPOINT_SLICES, codec: protobuf, clock, window });
  heard = [];
  topology.setOwnNode({
    labels: new Map([['node-role.kubernetes.io/edge', '']]),
    annotations: new Map(),
  });
}

function openSlices({ tellsCloudOnly }: { tellsCloudOnly: boolean }): void {
  const time = new ManualClock();
  endpoints = new EndpointsProjection({
    view: slices,
    topology,
    clock: time,
    tellsCloudOnly: tellsCloudOnly,
  });
}

/** The Services view of a wrapper that hides some of them. */
function hiding({ followsCloudOnly } = { followsCloudOnly: true }): ServicesProjection {
  return new ServicesProjection({
    view: services,
    topology,
    serviceFilter,
    feed,
    followsCloudOnly: followsCloudOnly,
  });
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
  for (const [selector, { state }] of topology.nodeSets) {
    if (state === 'synced') continue;
    topology.changeNodeSet(selector, ['cloud'], []);
    topology.setNodeSetState(selector);
  }
}

/** Both views as they are served, all node sets answered. */
function start(): ServicesProjection {
  const projection = hiding();
  projection.onChanges([service()]);
  projection.onSynced();
  endpoints.onChanges([slice(NEAR, CLOUD)]);
  endpoints.onSynced();
  answer();
  listen();
  return projection;
}

test('a Service whose traffic becomes the cloud\u2019s goes before its slices, and comes back after them', () => {
  start();
  endpoints.onChanges([slice({ ...NEAR, ready: false }, CLOUD)]);
  expect(heard).toEqual(['service DELETED', 'slice DELETED']);
  heard = [];
  endpoints.onChanges([slice(NEAR, CLOUD)]);
  expect(heard).toEqual(['slice ADDED', 'service ADDED']);
});

test('a Service whose own change leaves it to the cloud goes before its slices, and comes back after them', () => {
  const projection = start();
  projection.onChanges([service({}, 'u', {})]);
  endpoints.onChanges([slice(CLOUD)]);
  // Its nodes stay known: somebody else asks for the cloud too.
  const policy = {
    managed: true,
    keys: ['kube-proxy-wrapper.io/cloud'],
    source: 'default',
  } as const;
  topology.setPolicies(new Map([['default/db', policy]]));
  answer();
  heard = [];
  projection.onChanges([service()]);
  expect(heard).toEqual(['service DELETED', 'slice DELETED']);
  heard = [];
  projection.onChanges([service({}, 'u', {})]);
  expect(heard).toEqual(['slice ADDED', 'service ADDED']);
});

test('a Service that is left to another proxy goes before its slices, and comes back after them', () => {
  const projection = start();
  projection.onChanges([service({ mesh: '' })]);
  expect(heard).toEqual(['service DELETED', 'slice DELETED']);
  heard = [];
  projection.onChanges([service()]);
  answer();
  expect(heard).toEqual(['slice ADDED', 'service ADDED']);
});

test('a Service that is deleted goes before its slices show endpoints that its policy cut', () => {
  start().onChanges([{ type: 'DELETED', key: 'default/web' }]);
  expect(heard).toEqual(['service DELETED', 'slice MODIFIED']);
});

test('where no Service is hidden, too', () => {
  const sinks = [new DeletionsFirst<ServiceFacts>(services), feed, new PlainProjection(services)];
  const tell = (changes: readonly Change<ServiceFacts>[]) => {
    for (const sink of sinks) sink.onChanges(changes);
  };
  tell([service()]);
  for (const sink of sinks) sink.onSynced();
  endpoints.onChanges([slice(NEAR, CLOUD)]);
  endpoints.onSynced();
  answer();
  listen();
  tell([{ type: 'DELETED', key: 'default/web' }]);
  expect(heard).toEqual(['service DELETED', 'slice MODIFIED']);
});

test('a Service that changes, or comes, and goes at once does not go twice', () => {
  const projection = start();
  const gone = { type: 'DELETED', key: 'default/web' } as const;
  projection.onChanges([service({ a: '' }), gone]);
  expect(heard.filter((event) => event.startsWith('service'))).toEqual([
    'service MODIFIED',
    'service DELETED',
  ]);
  heard = [];
  projection.onChanges([service(), gone]);
  expect(heard).toEqual(['service ADDED', 'service DELETED']);
});

test('a Service that is replaced leaves no state in between', () => {
  const projection = start();
  const commits: number[] = [];
  services.log.subscribe(() => commits.push(services.size));
  projection.onChanges([{ type: 'DELETED', key: 'default/web' }, service({}, 'v')]);
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
      if (kind === 'slices') openSlices({ tellsCloudOnly: cloudPassthrough });
      else projection = hiding({ followsCloudOnly: cloudPassthrough });
    }
    projection.onSynced();
    endpoints.onChanges([slice(NEAR, CLOUD)]);
    endpoints.onSynced();
    listen();
  });

  test('a Service that waits for node sets comes after its slices, new or back from another proxy', () => {
    projection.onChanges([service()]);
    heard = [];
    answer();
    expect(heard).toEqual(['slice ADDED', 'service ADDED']);
    projection.onChanges([service({ mesh: '' })]);
    for (const selector of [...topology.nodeSets.keys()]) topology.dropNodeSet(selector);
    heard = [];
    projection.onChanges([service()]);
    expect(heard).toEqual([]);
    answer();
    expect(heard).toEqual(['slice ADDED', 'service ADDED']);
  });

  test('so does one with the zone key, which waits for no nodes', () => {
    const zone = 'topology.kubernetes.io/zone';
    topology.setOwnNode({ labels: new Map([[zone, 'z1']]), annotations: new Map() });
    projection.onChanges([service({ mesh: '' })]);
    heard = [];
    projection.onChanges([service({}, 'u', { topologyKeys: `["${zone}"]` })]);
    expect(heard).toEqual(['slice ADDED', 'service ADDED']);
    heard = [];
    answer();
    expect(heard).toEqual(['slice MODIFIED']);
  });

  test('a Service whose dry run ends before its nodes are known goes before its slices', () => {
    const dryRun = { topologyKeys: KEYS, 'kube-proxy-wrapper.io/filter': 'dry-run' };
    projection.onChanges([service({}, 'u', dryRun)]);
    expect(heard).toEqual(['service ADDED']);
    heard = [];
    projection.onChanges([service()]);
    expect(heard).toEqual(['service DELETED', 'slice DELETED']);
    heard = [];
    projection.onChanges([service({}, 'u', dryRun)]);
    expect(heard).toEqual(['slice ADDED', 'service ADDED']);
  });
});
