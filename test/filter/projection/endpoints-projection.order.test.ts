import { beforeEach, describe, expect, test } from '@jest/globals';
import { createProtobufCodec } from '../../../src/filter/codec/protobuf/codec.ts';
import type { EndpointsProjection } from '../../../src/filter/projection/endpoints-projection.ts';
import type { View } from '../../../src/filter/view/view.ts';
import type { Topology } from '../../../src/topology/state/topology.ts';
import { type SliceEndpoint, sliceChange } from '../../support/projection/slice-change.ts';
import { startSliceProjection } from '../../support/projection/slice-projection.ts';

const HOST = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';
const codec = createProtobufCodec();
const NEAR = { ip: '10.0.0.1', node: 'own' };
const FAR = { ip: '10.0.0.2', node: 'far' };

let topology: Topology;
let view: View;
let projection: EndpointsProjection;
let start: number;

beforeEach(() => {
  ({ topology, view, projection } = startSliceProjection());
  topology.setOwnNode({ labels: new Map(), annotations: new Map() });
  const policy = { managed: true, keys: [HOST, '*'], source: 'default' } as const;
  topology.setPolicies(new Map([['default/web', { ...policy, returnDelayMs: 60_000 }]]));
  topology.setSynced('services');
  projection.onChanges([slice('a', NEAR)]);
  projection.onChanges([slice('b', FAR)]);
  projection.onSynced();
  start = view.log.end;
});

function slice(name: string, endpoint: SliceEndpoint, uid = 'u', type?: 'ADDED') {
  return sliceChange(codec, { name, service: 'web', uid, endpoints: [endpoint] }, type);
}

function setZone(zone: string): void {
  topology.setOwnNode({ labels: new Map([[ZONE, zone]]), annotations: new Map() });
}

/** Makes the zone of this node the only topology key. */
function decideByZone(zone: string): void {
  setZone(zone);
  const policy = { managed: true, keys: [ZONE], source: 'default' } as const;
  topology.setPolicies(new Map([['default/web', policy]]));
}

/** Events since the start, as `TYPE name address`. */
function events(): string[] {
  const seen: string[] = [];
  for (let at = start; at < view.log.end; at++) {
    const { type = '', object = Buffer.alloc(0) } = view.log.at(at) ?? {};
    const addresses = object.toString('latin1').match(/10\.0\.0\.[0-9]/g) ?? [];
    seen.push([type, codec.meta(object).name, ...addresses].join(' '));
  }
  return seen;
}

test('an object that is replaced by one of the same name leaves no state in between', () => {
  projection.onChanges([{ type: 'DELETED', key: 'default/a' }, slice('a', NEAR, 'v', 'ADDED')]);
  expect(events()).toEqual(['DELETED a 10.0.0.1', 'ADDED a 10.0.0.1']);
});

test('an object that is added and deleted in one batch is shown both ways', () => {
  projection.onChanges([slice('c', NEAR, 'u', 'ADDED'), { type: 'DELETED', key: 'default/c' }]);
  expect(events()).toEqual(['ADDED c 10.0.0.1', 'DELETED c 10.0.0.1']);
});

test('if no endpoint is ready, slices with endpoints are sent before empty ones', () => {
  decideByZone('z1');
  projection.onChanges([slice('a', { ...NEAR, zone: 'z1', ready: false })]);
  projection.onChanges([slice('b', { ...FAR, zone: 'z2', ready: false })]);
  start = view.log.end;
  setZone('z2');
  expect(events()).toEqual(['MODIFIED b 10.0.0.2', 'MODIFIED a']);
});

test('after a list that replaces all objects, each is deleted only when its replacement is added', () => {
  projection.onChanges([
    { type: 'DELETED', key: 'default/a' },
    { type: 'DELETED', key: 'default/b' },
    slice('a', NEAR, 'v', 'ADDED'),
    slice('b', { ...FAR, node: 'own' }, 'v', 'ADDED'),
  ]);
  expect(events()).toEqual([
    'DELETED a 10.0.0.1',
    'ADDED a 10.0.0.1',
    'DELETED b',
    'ADDED b 10.0.0.2',
  ]);
});

describe('while the nodes of the zone are unknown', () => {
  const IN_ZONE = { ip: '10.0.0.1', node: 'near', zone: 'z1' };
  const WITHOUT_ZONE = { ip: '10.0.0.3', node: 'new' };

  beforeEach(() => {
    topology.setOwnNode({ labels: new Map([[ZONE, 'z1']]), annotations: new Map() });
    topology.setPolicies(
      new Map([['default/web', { managed: true, keys: [ZONE], source: 'default' }]]),
    );
    projection.onChanges([{ type: 'DELETED', key: 'default/b' }, slice('a', IN_ZONE)]);
    start = view.log.end;
  });

  function answer(): void {
    topology.changeNodeSet(`${ZONE}=z1`, ['new'], []);
    topology.setNodeSetState(`${ZONE}=z1`);
  }

  function both(name: string) {
    const endpoints = [IN_ZONE, WITHOUT_ZONE];
    return sliceChange(codec, { name, service: 'web', uid: 'v', endpoints }, 'ADDED');
  }

  test('a Service with an endpoint without a zone remains as it was shown', () => {
    projection.onChanges([{ type: 'DELETED', key: 'default/a' }, both('c')]);
    projection.onChanges([both('d')]);
    expect(events()).toEqual([]);
    answer();
    expect(events()).toEqual([
      'ADDED c 10.0.0.1 10.0.0.3',
      'ADDED d 10.0.0.1 10.0.0.3',
      'DELETED a 10.0.0.1',
    ]);
  });

  test('a Service whose endpoints name their zone again is decided immediately', () => {
    projection.onChanges([both('c')]);
    projection.onChanges([{ type: 'DELETED', key: 'default/c' }]);
    projection.onChanges([slice('a', { ...IN_ZONE, ip: '10.0.0.4' })]);
    expect(events()).toEqual(['MODIFIED a 10.0.0.4']);
  });

  test('a Service whose policy is replaced is decided immediately', () => {
    projection.onChanges([both('c')]);
    topology.setPolicies(
      new Map([['default/web', { managed: true, keys: ['*'], source: 'default' }]]),
    );
    expect(events()).toEqual(['ADDED c 10.0.0.1 10.0.0.3']);
  });

  test('an object that is replaced by one of the same name leaves no state in between', () => {
    projection.onChanges([{ type: 'DELETED', key: 'default/a' }, both('a')]);
    projection.onChanges([both('a')]);
    expect(events()).toEqual([]);
    answer();
    expect(events()).toEqual(['DELETED a 10.0.0.1', 'ADDED a 10.0.0.1 10.0.0.3']);
  });

  test('a view whose endpoints all have a zone is not affected', () => {
    const other = {};
    topology.setServicesWithoutZone(other, new Map([['default/web', true]]));
    expect([...topology.nodeSets.keys()]).toEqual([`${ZONE}=z1`]);
    projection.onChanges([slice('a', { ...IN_ZONE, ip: '10.0.0.4' })]);
    answer();
    expect(events()).toEqual(['MODIFIED a 10.0.0.4']);
  });
});
