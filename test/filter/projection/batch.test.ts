import { beforeEach, expect, test } from '@jest/globals';
import type { EndpointsFacts, ServiceFacts } from '../../../src/filter/codec/codec.ts';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../../src/filter/objects/resource.ts';
import { Batches, type ViewHandler } from '../../../src/filter/projection/batch.ts';
import { EndpointsProjection } from '../../../src/filter/projection/endpoints-projection.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { stillClock } from '../../support/clocks.ts';
import { encodeObject } from '../../support/codec/encode-object.ts';
import { servicesProjection } from '../../support/projection/services-projection.ts';
import { sliceChange } from '../../support/projection/slice-change.ts';
import { PLAIN_TOPOLOGY } from '../../support/topology/plain-topology.ts';

const HOST = 'kubernetes.io/hostname';
const CLOUD = 'kube-proxy-wrapper.io/cloud';
const codec = new ProtobufCodec();

let topology: Topology;
let services: ViewHandler<ServiceFacts>;
let slices: ViewHandler<EndpointsFacts>;
/** What clients were notified of, one entry for each view and commit. */
let commits: string[];

/**
 * An edge node that hides Services whose traffic all goes to the cloud, and a Service with an endpoint on each side.
 */
beforeEach(() => {
  topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'own', withholdsServices: true });
  const batches = new Batches(topology);
  const common = { codec, versions: new VersionAllocator(0), window: { entries: 99, bytes: 1e6 } };
  const view = new View({ ...common, resource: ENDPOINT_SLICES });
  const ofServices = new View({ ...common, resource: SERVICES });
  const projection = new EndpointsProjection({
    view,
    topology,
    clock: stillClock,
    reportsWithheld: true,
  });
  slices = batches.addEndpoints(projection);
  services = servicesProjection({
    view: ofServices,
    topology,
    batches,
    serviceFilter: { label: 'mesh', hides: 'labelled' },
    followsWithheld: true,
  }).handler;
  const labels = new Map([['node-role.kubernetes.io/edge', '']]);
  topology.setOwnNode({ labels, annotations: new Map() });
  topology.setPolicies(
    new Map([['default/web', { managed: true, keys: [HOST, CLOUD], source: 'default' }]]),
  );
  topology.setSynced('services');
  const [cloud] = topology.nodeSets.values();
  cloud?.change(['far'], []);
  cloud?.sync();
  putService('web', {});
  put(true);
  services.onSynced();
  slices.onSynced();
  commits = [];
  for (const [name, { log }] of [['slices', view] as const, ['services', ofServices] as const]) {
    log.subscribe(() => commits.push(`${name} ${log.at(log.end - 1)?.type}`));
  }
});

function putService(name: string, labels: Record<string, string>): void {
  const metadata = { name, namespace: 'default', uid: 'u', resourceVersion: '1', labels };
  const object = encodeObject('protobuf', 'Service', { metadata, spec: {} });
  const facts = codec.service(object);
  services.onChanges([{ type: 'ADDED', key: `default/${name}`, facts, object }]);
}

/** One endpoint on this node, ready or not, and one in the cloud. */
function change(near: boolean) {
  const endpoints = [
    { ip: '10.0.0.1', node: 'own', ready: near },
    { ip: '10.0.0.2', node: 'far' },
  ];
  return sliceChange(codec, { name: 'web-a', service: 'web', endpoints });
}

function put(near: boolean): void {
  slices.onChanges([change(near)]);
}

test('a Service that is withheld leaves before its endpoints, and appears after them', () => {
  put(false);
  put(true);
  expect(commits).toEqual(['services DELETED', 'slices DELETED', 'slices ADDED', 'services ADDED']);
});

test('it does so too if a slice changes twice in one batch', () => {
  slices.onChanges([change(false), change(true)]);
  expect(commits).toEqual(['services DELETED', 'slices DELETED', 'slices ADDED', 'services ADDED']);
});

test('it does so too if the topology changes', () => {
  const setKeys = (...keys: string[]) =>
    topology.setPolicies(new Map([['default/web', { managed: true, keys, source: 'default' }]]));
  setKeys(CLOUD);
  setKeys(HOST, CLOUD);
  expect(commits).toEqual(['services DELETED', 'slices DELETED', 'slices ADDED', 'services ADDED']);
});

test('the slices of a Service that the topology does not read are hidden with it', () => {
  const endpoints = [{ ip: '10.0.0.1', node: 'own' }];
  slices.onChanges([sliceChange(codec, { name: 'db-a', service: 'db', endpoints })]);
  const unread = { 'service.kubernetes.io/service-proxy-name': 'other' };
  putService('db', { ...unread, mesh: '' });
  putService('db', unread);
  expect(commits).toEqual(['slices ADDED', 'slices DELETED', 'services ADDED', 'slices ADDED']);
});
