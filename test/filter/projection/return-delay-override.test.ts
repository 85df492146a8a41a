import { beforeEach, expect, test } from '@jest/globals';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import type { EndpointsProjection } from '../../../src/filter/projection/endpoints-projection.ts';
import type { View } from '../../../src/filter/view/view.ts';
import type { Topology } from '../../../src/topology/state/topology.ts';
import { sliceChange } from '../../support/projection/slice-change.ts';
import { startSliceProjection } from '../../support/projection/slice-projection.ts';

const HOST = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';
const codec = new ProtobufCodec();

let topology: Topology;
let view: View;
let projection: EndpointsProjection;

beforeEach(() => {
  ({ topology, view, projection } = startSliceProjection());
  setZone('z');
  setKeys(HOST, '*');
  topology.setSynced('services');
  projection.onSynced();
  // Traffic goes to 2; 1, on this node, is held back.
  put(false);
  put(true);
});

function setZone(zone: string): void {
  topology.setOwnNode({ labels: new Map([[ZONE, zone]]), annotations: new Map() });
}

function setKeys(...keys: string[]): void {
  const policy = { managed: true, keys, source: 'default', returnDelayMs: 60_000 } as const;
  topology.setPolicies(new Map([['default/web', policy]]));
}

/** 1 on this node, ready or not, and 2 in zone y. */
function put(ready: boolean, zone = 'z'): void {
  const near = { ip: '10.0.0.1', node: 'own', zone, ready };
  const far = { ip: '10.0.0.2', node: 'far', zone: 'y' };
  const slice = { name: 'web-a', service: 'web', endpoints: [near, far] };
  projection.onChanges([sliceChange(codec, slice)]);
}

/** An endpoint of another Service on the node `far`. */
function putOther(zone: string): void {
  const endpoints = [{ ip: '10.0.0.9', node: 'far', zone }];
  projection.onChanges([sliceChange(codec, { name: 'other-a', service: 'other', endpoints })]);
}

function shown(): string[] {
  return (
    view
      .get('default/web-a')
      ?.toString('latin1')
      .match(/10\.0\.0\.[0-9]/g) ?? []
  );
}

test('another policy takes effect immediately', () => {
  setKeys(HOST, ZONE, '*');
  expect(shown()).toEqual(['10.0.0.1']);
});

test('another label of this node takes effect immediately', () => {
  setKeys(ZONE, '*');
  put(false);
  put(true);
  expect(shown()).toEqual(['10.0.0.1', '10.0.0.2']);
  setZone('y');
  expect(shown()).toEqual(['10.0.0.2']);
});

test('another label of this node takes effect with the nodes of its zone, if any Service needs them', () => {
  setKeys(ZONE, '*');
  put(false);
  put(true);
  expect(shown()).toEqual(['10.0.0.1', '10.0.0.2']);
  const policy = { managed: true, keys: [ZONE, '*'], source: 'default' } as const;
  topology.setPolicies(new Map([['default/other', policy]]));
  putOther('');
  topology.setNodeSetState(`${ZONE}=z`);
  setZone('y');
  expect(shown()).toEqual(['10.0.0.1', '10.0.0.2']);
  topology.setNodeSetState(`${ZONE}=y`);
  expect(shown()).toEqual(['10.0.0.2']);
});

test('nodes of the zone take effect immediately when they become known, and later after the delay', () => {
  const putFar = (ready: boolean) => {
    const near = { ip: '10.0.0.1', node: 'own', zone: 'y' };
    const far = { ip: '10.0.0.2', node: 'far', zone: '', ready };
    const slice = { name: 'web-a', service: 'web', endpoints: [near, far] };
    projection.onChanges([sliceChange(codec, slice)]);
  };
  setKeys(ZONE, '*');
  putFar(true);
  expect(shown()).toEqual(['10.0.0.1']);
  topology.changeNodeSet(`${ZONE}=z`, ['far'], []);
  topology.setNodeSetState(`${ZONE}=z`);
  expect(shown()).toEqual(['10.0.0.2']);
  topology.changeNodeSet(`${ZONE}=z`, [], ['far']);
  topology.changeNodeSet(`${ZONE}=z`, ['far'], []);
  expect(shown()).toEqual(['10.0.0.1', '10.0.0.2']);
});

test('nodes that were refused, or not on disk, take effect immediately when they become known', () => {
  const labels = new Map([['rack', '1']]);
  topology.setOwnNode({ labels, annotations: new Map() });
  setKeys('rack', '*');
  topology.setNodeSetState('rack=1', 'refused');
  const endpoints = [
    { ip: '10.0.0.1', node: 'near' },
    { ip: '10.0.0.2', node: 'far' },
  ];
  projection.onChanges([sliceChange(codec, { name: 'web-a', service: 'web', endpoints })]);
  expect(shown()).toEqual(['10.0.0.1', '10.0.0.2']);
  topology.changeNodeSet('rack=1', ['near'], []);
  expect(shown()).toEqual(['10.0.0.1']);
});

// The nodes of the zone are watched again, but the owner of the cluster changed nothing.
test('an endpoint that loses its zone does not cut the delay short', () => {
  setKeys(HOST, ZONE, '*');
  put(false);
  put(true);
  put(true, '');
  topology.setNodeSetState(`${ZONE}=z`);
  put(true);
  expect(shown()).toEqual(['10.0.0.1', '10.0.0.2']);
});

test('a change by the owner while the nodes of the zone are unknown takes effect with them', () => {
  const own = (rack: string) => {
    const labels = new Map([
      [ZONE, 'z'],
      ['rack', rack],
    ]);
    topology.setOwnNode({ labels, annotations: new Map() });
  };
  const putThree = (zone: string) => {
    const endpoints = [
      { ip: '10.0.0.1', node: 'near', zone: 'y' },
      { ip: '10.0.0.2', node: 'mid', zone: 'z' },
      { ip: '10.0.0.3', node: 'far', zone },
    ];
    projection.onChanges([sliceChange(codec, { name: 'web-a', service: 'web', endpoints })]);
  };
  own('1');
  setKeys('rack', ZONE, '*');
  topology.setNodeSetState('rack=1');
  putThree('y');
  expect(shown()).toEqual(['10.0.0.2']);
  putThree('');
  own('2');
  topology.changeNodeSet('rack=2', ['near'], []);
  topology.setNodeSetState('rack=2');
  topology.setNodeSetState(`${ZONE}=z`);
  expect(shown()).toEqual(['10.0.0.1']);
});
