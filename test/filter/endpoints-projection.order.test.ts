import { beforeEach, expect, test } from '@jest/globals';
import { EndpointsProjection } from '../../src/filter/endpoints-projection.ts';
import { createProtobufCodec } from '../../src/filter/protobuf/codec.ts';
import { ENDPOINT_SLICES } from '../../src/filter/resource.ts';
import { VersionClock } from '../../src/filter/version-clock.ts';
import { View } from '../../src/filter/view.ts';
import { World } from '../../src/topology/world.ts';
import { type SliceEndpoint, sliceChange } from '../support/slice-change.ts';
import { ManualClock, PLAIN_WORLD } from '../support/topology.ts';

const HOST = 'kubernetes.io/hostname';
const codec = createProtobufCodec();
const NEAR = { ip: '10.0.0.1', node: 'own' };
const FAR = { ip: '10.0.0.2', node: 'far' };

let view: View;
let projection: EndpointsProjection;
let start: number;

beforeEach(() => {
  const world = new World({ ...PLAIN_WORLD, nodeName: 'own' });
  const window = { entries: 1000, bytes: 1 << 20 };
  view = new View({ resource: ENDPOINT_SLICES, codec, clock: new VersionClock(0), window });
  projection = new EndpointsProjection({
    ...{ view, world },
    clock: new ManualClock(),
    tellsWithheld: false,
  });
  world.setOwnNode({ labels: new Map(), annotations: new Map() });
  const policy = { managed: true, keys: [HOST, '*'], source: 'default' } as const;
  world.setPolicies(new Map([['default/web', { ...policy, returnDelayMs: 60_000 }]]));
  world.setSynced('services');
  projection.changed([slice('a', NEAR)]);
  projection.changed([slice('b', FAR)]);
  projection.synced();
  start = view.log.end;
});

function slice(name: string, endpoint: SliceEndpoint, uid = 'u', type?: 'ADDED') {
  return sliceChange(codec, { name, service: 'web', uid, endpoints: [endpoint] }, type);
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

test('an endpoint that moves to another slice is there all the time, whatever came first', () => {
  projection.changed([{ type: 'DELETED', key: 'default/a' }, slice('c', NEAR, 'u', 'ADDED')]);
  expect(events()).toEqual(['ADDED c 10.0.0.1', 'DELETED a 10.0.0.1']);
});

test('an object that another one of the same name replaces leaves no state in between', () => {
  projection.changed([{ type: 'DELETED', key: 'default/a' }, slice('a', NEAR, 'v', 'ADDED')]);
  expect(events()).toEqual(['DELETED a 10.0.0.1', 'ADDED a 10.0.0.1']);
});

test('an object that comes and goes at once is shown both ways', () => {
  projection.changed([slice('c', NEAR, 'u', 'ADDED'), { type: 'DELETED', key: 'default/c' }]);
  expect(events()).toEqual(['ADDED c 10.0.0.1', 'DELETED c 10.0.0.1']);
});
