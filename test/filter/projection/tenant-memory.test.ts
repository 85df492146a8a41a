import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { EndpointsFacts, ServiceFacts } from '../../../src/filter/codec/codec.ts';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import { ENDPOINT_SLICES } from '../../../src/filter/objects/resource.ts';
import { PolicyLog } from '../../../src/node/own-watches/policy-log.ts';
import { ServicesHandler } from '../../../src/node/own-watches/services-handler.ts';
import { PolicyResolver } from '../../../src/topology/policy/policy-resolver.ts';
import { encodeObject } from '../../support/codec/encode-object.ts';
import { liveBytes } from '../../support/live-bytes.ts';
import { startSliceProjection } from '../../support/projection/slice-projection.ts';
import { NO_POLICY } from '../../support/topology/plain-topology.ts';

/** What caches may keep of earlier states, in bytes. All that a tenant wrote is several times as much. */
const BOUND = 24e6;

const codec = new ProtobufCodec();

/** A node that reads one Service and its slice, which a tenant writes. */
function startNode() {
  const { topology, handler, view } = startSliceProjection();
  const policyLog = new PolicyLog(pino({ level: 'silent' }));
  const policyResolver = new PolicyResolver(NO_POLICY);
  const services = new ServicesHandler({ topology, policyResolver, policyLog });
  topology.setOwnNode({ labels: new Map([['site', 'a']]), annotations: new Map() });
  services.onChanges([]);
  services.onSynced();
  handler.onChanges([]);
  handler.onSynced();
  expect(view.started).toBe(true);
  return {
    service(annotations: Record<string, string>) {
      const model = { metadata: { ...META, annotations }, spec: { clusterIP: '10.96.0.1' } };
      const object = encodeObject('protobuf', 'Service', model);
      const facts: ServiceFacts = codec.service(object);
      services.onChanges([{ type: 'MODIFIED', key: 'shop/web', facts, object }]);
    },
    slice(ports: readonly string[], endpoints: readonly { nodeName: string; zone?: string }[]) {
      const model = {
        metadata: { ...META, labels: { 'kubernetes.io/service-name': 'web' } },
        addressType: 'IPv4',
        endpoints: endpoints.map((each) => ({ addresses: ['10.0.0.1'], ...each })),
        ports: ports.map((name) => ({ name, port: 80, protocol: 'TCP' })),
      };
      const object = encodeObject('protobuf', 'EndpointSlice', model);
      const facts: EndpointsFacts = codec.endpoints(ENDPOINT_SLICES, object);
      handler.onChanges([{ type: 'MODIFIED', key: 'shop/web', facts, object }]);
    },
  };
}

const META = { namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '5' };

type TenantNode = ReturnType<typeof startNode>;

/** The same number of different texts in each turn. */
const texts = (turn: number, count: number, length: number) =>
  Array.from({ length: count }, (_, n) => `${turn}-${n}-`.padEnd(length, 'x'));
const keys = (turn: number) =>
  JSON.stringify(['kubernetes.io/hostname', ...texts(turn, 14, 50).map((key) => `${key}x`), '*']);

test.each<[string, number, (node: TenantNode, turn: number) => void]>([
  [
    'names in min-ready that are not topology keys',
    120,
    (node, turn) => {
      const counts = texts(turn, 2_500, 95).map((key) => [key, 1]);
      const minReady = JSON.stringify(Object.fromEntries(counts));
      node.service({ topologyKeys: '["*"]', 'kube-proxy-wrapper.io/min-ready': minReady });
    },
  ],
  [
    'ports of a slice',
    100,
    (node, turn) => {
      node.service({ topologyKeys: '["site","*"]' });
      node.slice(texts(turn, 5_000, 15), [{ nodeName: 'a' }]);
    },
  ],
  [
    'zones of endpoints',
    200,
    (node, turn) => {
      node.service({ topologyKeys: '["topology.kubernetes.io/zone","*"]' });
      const zones = texts(turn, 2, 200_000);
      node.slice(
        ['http'],
        zones.map((zone) => ({ nodeName: 'a', zone })),
      );
    },
  ],
  [
    'nodes of endpoints',
    200,
    (node, turn) => {
      node.service({ topologyKeys: keys(turn % 10) });
      node.slice(
        ['http'],
        texts(turn, 1_000, 200).map((nodeName) => ({ nodeName })),
      );
    },
  ],
  [
    'topology keys that no node has',
    10_000,
    (node, turn) => {
      node.slice(['http'], [{ nodeName: 'a' }]);
      node.service({ topologyKeys: keys(turn) });
    },
  ],
])('%s that a tenant wrote before take a bounded amount of memory', async (_, turns, write) => {
  const node = startNode();
  for (let turn = 0; turn < 5; turn++) write(node, turn);
  const before = await liveBytes();
  for (let turn = 5; turn < turns; turn++) write(node, turn);
  const kept = (await liveBytes()) - before;
  write(node, turns);
  expect(kept).toBeLessThan(BOUND);
});
