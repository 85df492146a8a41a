import { beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { Change } from '../../../src/filter/codec/change.ts';
import type { ServiceFacts } from '../../../src/filter/codec/codec.ts';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import { createProtobufCodec } from '../../../src/filter/codec/protobuf/codec.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../../src/filter/codec/resource.ts';
import { EndpointsProjection } from '../../../src/filter/projection/endpoints-projection.ts';
import { ObjectsProjection } from '../../../src/filter/projection/objects-projection.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import { ServicesHandler } from '../../../src/proxy/cluster/services-handler.ts';
import { PolicyResolver } from '../../../src/topology/policy/policy-resolver.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { servicesProjection } from '../../support/projection/services-projection.ts';
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
let servicesHandler: ServicesHandler;
/** Events of both views as their watchers receive them, `kind TYPE`. */
let events: string[];

beforeEach(() => {
  openTopology({ cloudPassthrough: true });
  openSlices({ tellsCloudOnly: true });
});

function openTopology({ cloudPassthrough }: { cloudPassthrough: boolean }): void {
  topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'own', cloudPassthrough });
  const book = new PolicyResolver({ ...NO_POLICY, serviceFilter });
  servicesHandler = new ServicesHandler({
    topology,
    policyResolver: book,
    logger: pino({ level: 'silent' }),
  });
  services = new View({ resource: SERVICES, codec: json, versions: clock, window });
  slices = new View({ resource: ENDPOINT_SLICES, codec: protobuf, versions: clock, window });
  events = [];
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
    reportsCloudOnly: tellsCloudOnly,
  });
}

/** The Services view of a wrapper that hides some of them. */
function hiding(
  { followsCloudOnly } = { followsCloudOnly: true },
): ObjectsProjection<ServiceFacts> {
  return servicesProjection({
    view: services,
    topology,
    serviceFilter,
    feed: servicesHandler,
    followsCloudOnly,
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
      for (; at < view.log.end; at++) events.push(`${kind} ${view.log.at(at)?.type}`);
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
function start(): ObjectsProjection<ServiceFacts> {
  const projection = hiding();
  projection.onChanges([service()]);
  projection.onSynced();
  endpoints.onChanges([slice(NEAR, CLOUD)]);
  endpoints.onSynced();
  answer();
  listen();
  return projection;
}

test('a deleted Service goes first also if no Service is ever hidden', () => {
  const projection = new ObjectsProjection({ view: services, feed: servicesHandler });
  projection.onChanges([service()]);
  projection.onSynced();
  endpoints.onChanges([slice(NEAR, CLOUD)]);
  endpoints.onSynced();
  answer();
  listen();
  projection.onChanges([{ type: 'DELETED', key: 'default/web' }]);
  expect(events).toEqual(['service DELETED', 'slice MODIFIED']);
});

test('a Service that is changed or added and deleted in one batch is deleted once', () => {
  const projection = start();
  const gone = { type: 'DELETED', key: 'default/web' } as const;
  projection.onChanges([service({ a: '' }), gone]);
  expect(events.filter((event) => event.startsWith('service'))).toEqual([
    'service MODIFIED',
    'service DELETED',
  ]);
  events = [];
  projection.onChanges([service(), gone]);
  expect(events).toEqual(['service ADDED', 'service DELETED']);
});

test('a replaced Service leaves no state in between', () => {
  const projection = start();
  const commits: number[] = [];
  services.log.subscribe(() => commits.push(services.size));
  projection.onChanges([{ type: 'DELETED', key: 'default/web' }, service({}, 'v')]);
  expect(commits).toEqual([1]);
  expect(events).toEqual(['service DELETED', 'service ADDED']);
});
