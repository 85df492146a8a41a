import { beforeEach, expect, test } from '@jest/globals';
import type { EndpointsFacts } from '../../../src/filter/codec/codec.ts';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import type { ViewHandler } from '../../../src/filter/projection/batch.ts';
import type { EndpointsProjection } from '../../../src/filter/projection/endpoints-projection.ts';
import type { View } from '../../../src/filter/view/view.ts';
import type { Topology } from '../../../src/topology/state/topology.ts';
import { eventsSince } from '../../support/projection/events-since.ts';
import { type SliceEndpoint, sliceChange } from '../../support/projection/slice-change.ts';
import { startSliceProjection } from '../../support/projection/slice-projection.ts';

/* A Service that uses the zone key and has an endpoint without a zone waits until the nodes of the zone are known. */

const ZONE = 'topology.kubernetes.io/zone';
const IN_ZONE = { ip: '10.0.0.1', node: 'near', zone: 'z1' };
const WITHOUT_ZONE = { ip: '10.0.0.3', node: 'new' };
const codec = new ProtobufCodec();

let topology: Topology;
let view: View;
let handler: ViewHandler<EndpointsFacts>;
let projection: EndpointsProjection;
let start: number;

beforeEach(() => {
  ({ topology, view, handler, projection } = startSliceProjection());
  topology.setOwnNode({ labels: new Map([[ZONE, 'z1']]), annotations: new Map() });
  setKeys(ZONE);
  topology.setSynced('services');
  handler.onChanges([slice('a', IN_ZONE)]);
  handler.onSynced();
  start = view.log.end;
});

function setKeys(...keys: string[]): void {
  topology.setPolicies(new Map([['default/web', { managed: true, keys, source: 'default' }]]));
}

function slice(name: string, ...endpoints: SliceEndpoint[]) {
  return sliceChange(codec, { name, service: 'web', endpoints });
}

/** A new slice, one of whose endpoints has no zone. */
function both(name: string, ...[near = IN_ZONE.ip, other = WITHOUT_ZONE.ip]: string[]) {
  const endpoints = [
    { ...IN_ZONE, ip: near },
    { ...WITHOUT_ZONE, ip: other },
  ];
  return sliceChange(codec, { name, service: 'web', uid: 'v', endpoints }, 'ADDED');
}

function answer(): void {
  topology.nodeSets.get(`${ZONE}=z1`)?.change(['new'], []);
  topology.nodeSets.get(`${ZONE}=z1`)?.sync();
}

const events = () => eventsSince(view, start);

test('a Service with an endpoint without a zone remains as it was shown', () => {
  handler.onChanges([{ type: 'DELETED', key: 'default/a' }, both('c')]);
  handler.onChanges([both('d', '10.0.0.5', '10.0.0.7')]);
  expect(events()).toEqual([]);
  answer();
  expect(events()).toEqual([
    'ADDED c 10.0.0.1 10.0.0.3',
    'ADDED d 10.0.0.5 10.0.0.7',
    'DELETED a 10.0.0.1',
  ]);
});

test('a Service whose endpoints name their zone again is decided immediately', () => {
  handler.onChanges([both('c')]);
  handler.onChanges([{ type: 'DELETED', key: 'default/c' }]);
  handler.onChanges([slice('a', { ...IN_ZONE, ip: '10.0.0.4' })]);
  expect(events()).toEqual(['MODIFIED a 10.0.0.4']);
});

test('a Service whose policy is replaced is decided immediately', () => {
  handler.onChanges([both('c', '10.0.0.5')]);
  setKeys('*');
  expect(events()).toEqual(['ADDED c 10.0.0.5 10.0.0.3']);
});

test('an object that is replaced by one of the same name leaves no state in between', () => {
  handler.onChanges([{ type: 'DELETED', key: 'default/a' }, both('a')]);
  handler.onChanges([both('a')]);
  expect(events()).toEqual([]);
  answer();
  expect(events()).toEqual(['DELETED a 10.0.0.1', 'ADDED a 10.0.0.1 10.0.0.3']);
});

// What it had remained, as an endpoint of a Service that has it no longer.
test.each([
  ['moves to', () => [slice('o', { ...IN_ZONE, ip: '10.0.0.5' }, WITHOUT_ZONE)]],
  [
    'is replaced by one of',
    () => [{ type: 'DELETED' as const, key: 'default/o' }, both('o', '10.0.0.5')],
  ],
])('a slice that %s an undecided Service leaves its old one immediately', (_, changes) => {
  handler.onChanges([sliceChange(codec, { name: 'o', service: 'old', endpoints: [IN_ZONE] })]);
  start = view.log.end;
  handler.onChanges(changes());
  expect(events()).toEqual(['DELETED o 10.0.0.1']);
  answer();
  expect(events()).toEqual(['DELETED o 10.0.0.1', 'ADDED o 10.0.0.5 10.0.0.3']);
});

test('the cause of its decision are the nodes that it has waited for', () => {
  handler.onChanges([both('a')]);
  answer();
  expect([...projection.journal.after(0)].map(({ cause }) => cause.kind)).toEqual(['nodes']);
});

test('a view whose endpoints all have a zone is not affected by another that has not', () => {
  topology.setServicesWithoutZone({}, new Map([['default/web', true]]));
  expect([...topology.nodeSets.keys()]).toEqual([`${ZONE}=z1`]);
  handler.onChanges([slice('a', { ...IN_ZONE, ip: '10.0.0.4' })]);
  answer();
  expect(events()).toEqual(['MODIFIED a 10.0.0.4']);
});
