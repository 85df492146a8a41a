import { beforeEach, expect, test } from '@jest/globals';
import type { EndpointsFacts } from '../../../src/filter/codec/codec.ts';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import { ENDPOINTS } from '../../../src/filter/objects/resource.ts';
import type { ViewHandler } from '../../../src/filter/projection/batch.ts';
import type { EndpointsProjection } from '../../../src/filter/projection/endpoints-projection.ts';
import type { View } from '../../../src/filter/view/view.ts';
import type { ManagedPolicy } from '../../../src/topology/policy/policy.ts';
import type { Topology } from '../../../src/topology/state/topology.ts';
import { addressesIn } from '../../support/codec/addresses-in.ts';
import { encodeObject } from '../../support/codec/encode-object.ts';
import { type SliceEndpoint, sliceChange } from '../../support/projection/slice-change.ts';
import { startSliceProjection } from '../../support/projection/slice-projection.ts';

/* kube-proxy takes the ports of a Service from the Service. Slices with other ports count for nothing. */

const HOST = 'kubernetes.io/hostname';
const codec = new ProtobufCodec();
const NEAR = { ip: '10.0.0.1', node: 'own' };
const FAR = { ip: '10.0.0.2', node: 'far' };

let topology: Topology;
let view: View;
let projection: EndpointsProjection;
let handler: ViewHandler<EndpointsFacts>;

beforeEach(() => {
  ({ topology, view, projection, handler } = startSliceProjection());
  topology.setOwnNode({ labels: new Map([['site', 'a']]), annotations: new Map() });
  topology.setSynced('services');
  setPolicy({ managed: true, keys: [HOST, '*'], source: 'default' }, 'IPv4 TCP/http');
  put('a', ['http'], FAR);
  put('b', ['metrics'], NEAR);
  handler.onSynced();
});

function setPolicy(policy: ManagedPolicy, ...ports: string[]): void {
  topology.setPolicies(new Map([['default/web', policy]]), new Map([['default/web', ports]]));
}

function put(name: string, ports: readonly string[], ...endpoints: readonly SliceEndpoint[]): void {
  handler.onChanges([sliceChange(codec, { name, service: 'web', ports, endpoints })]);
}

/** The addresses that are shown of slices a and b. */
function shown(): string[][] {
  return ['default/a', 'default/b'].map((key) => addressesIn(view.get(key)));
}

test('a Service that is not known has the ports of its slices', () => {
  topology.setPolicies(new Map([['default/web', undefined]]));
  expect(shown()).toEqual([['10.0.0.2'], ['10.0.0.1']]);
  topology.setPolicies(
    new Map([['default/web', { managed: true, keys: [HOST, '*'], source: 'default' } as const]]),
  );
  expect(shown()).toEqual([['10.0.0.2'], ['10.0.0.1']]);
});

// Nothing but the address changes.
test('an address that another slice has too is shown once, and counts once', () => {
  setPolicy(
    { managed: true, keys: [HOST, '*'], source: 'default', minReady: [2, 1] },
    'IPv4 TCP/http',
  );
  put('a', ['http'], NEAR);
  put('b', ['http'], NEAR, FAR);
  expect(shown()).toEqual([['10.0.0.1'], ['10.0.0.2']]);
  put('a', ['http'], { ...NEAR, ip: '10.0.0.3' });
  expect(shown()).toEqual([['10.0.0.3'], ['10.0.0.1']]);
});

// A tenant's Service held each node up for seconds at each event.
test('a Service that is too large is unfiltered and says so, until it is smaller', () => {
  const names = Array.from({ length: 8_400 }, (_, port) => `p${port}`);
  put('b', ['http'], NEAR, FAR);
  expect(shown()).toEqual([[], ['10.0.0.1']]);
  for (const name of ['c', 'd']) put(name, names, FAR);
  put('a', names, FAR);
  const { outcome } = projection.inspect('default/web');
  expect(outcome).toMatchObject({
    kind: 'unfiltered',
    reason: 'service-too-large',
    problem: 'service-too-large',
    winners: [],
    kept: 5,
  });
  expect(shown()).toEqual([['10.0.0.2'], ['10.0.0.1', '10.0.0.2']]);
  put('a', ['http'], FAR);
  expect(shown()).toEqual([[], ['10.0.0.1']]);
  expect(projection.inspect('default/web').outcome).toMatchObject({ kind: 'filtered' });
});

test('another address or port number in one subset of an Endpoints object changes what its min-ready counts', () => {
  ({ topology, view, projection, handler } = startSliceProjection({ resource: ENDPOINTS }));
  topology.setOwnNode({ labels: new Map(), annotations: new Map() });
  const keys = [HOST, '*'];
  setPolicy({ managed: true, keys, source: 'default', minReady: [2, 1] }, 'IPv4 TCP/http');
  topology.setSynced('services');
  const subset = (own: string, far: string, port: number) => ({
    addresses: [
      { ip: own, nodeName: 'own' },
      { ip: far, nodeName: 'far' },
    ],
    ports: [{ name: 'http', port }],
  });
  const putEndpoints = (own: string, port: number) => {
    const object = encodeObject('protobuf', 'Endpoints', {
      metadata: { namespace: 'default', name: 'web' },
      subsets: [subset('10.0.0.1', '10.0.0.8', 80), subset(own, '10.0.0.9', port)],
    });
    const facts = codec.endpoints(ENDPOINTS, object);
    handler.onChanges([{ type: 'MODIFIED', key: 'default/web', facts, object }]);
  };
  putEndpoints('10.0.0.2', 80);
  handler.onSynced();
  expect(projection.inspect('default/web').outcome.winners).toEqual([HOST]);
  putEndpoints('10.0.0.1', 81);
  expect(projection.inspect('default/web').outcome.winners).toEqual([HOST]);
  putEndpoints('10.0.0.1', 80);
  expect(projection.inspect('default/web').outcome.winners).toEqual(['*']);
});
