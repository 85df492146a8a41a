import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  annotateService,
  createNode,
  createService,
  labelNode,
} from '../../../harness/api-server/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../../../harness/api-server/control-plane.ts';
import { createNodeNetns, type NodeNetns } from '../../../harness/network/node-netns.ts';
import { connectNodes } from '../../../harness/network/node-network.ts';
import { startKubeProxy } from '../../../harness/node/kube-proxy.ts';
import {
  createPlacedService,
  type Placed,
  putSlice,
  setEndpointReady,
} from '../../../harness/node/placed-service.ts';
import { type Fleet, type ServedNode, startFleet } from '../../../harness/node/served-node.ts';
import { poll } from '../../../harness/poll.ts';
import { stoppedLater } from '../../support/closed-later.ts';

jest.setTimeout(600_000);

const ZONE = 'topology.kubernetes.io/zone';

/** Endpoints on nodes that have no wrapper: in the zone of those that have, and in other ones. */
const NEAR: Placed = { at: '10.244.1.1:80', node: 'near', zone: 'z1' };
const MID: Placed = { at: '10.244.1.2:80', node: 'mid', zone: 'z2' };
const FAR: Placed = { at: '10.244.1.3:80', node: 'far', zone: 'z3' };
const NEAR6: Placed = { ...NEAR, at: '[fd00:244::1]:80' };
const FAR6: Placed = { ...FAR, at: '[fd00:244::3]:80' };
/** On a node that has a wrapper. Its slice still says another zone than the label of the node, which decides. */
const OWN: Placed = { at: '10.244.1.8:80', node: 'first', zone: 'z3' };

/** An address of each node that its Node does not have. */
const SECONDARY = '10.97.0.1';

const ZONE_ELSE_ANY = { topologyKeys: 'prefer-same-zone' };

/** Two nodes of one zone that reach each other. Their default is `same-zone-only`. */
let plane: ControlPlane;
let fleet: Fleet;
let first: ServedNode;
let second: ServedNode;

beforeAll(async () => {
  plane = stoppedLater(
    await startControlPlane({
      apiServerArgs: ['--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112'],
    }),
  );
  for (const { node = '', zone = '' } of [NEAR, MID, FAR]) {
    await createNode(plane.admin, node, { [ZONE]: zone, site: 'a' });
  }
  const common = {
    plane,
    labels: { [ZONE]: 'z1', site: 'a' },
    settings: { defaultTopologyKeys: 'same-zone-only' },
  };
  fleet = stoppedLater(
    await startFleet([
      { ...common, nodeName: 'first', mode: 'nftables', nodePortAddresses: ['all'] },
      { ...common, nodeName: 'second', mode: 'iptables', nodePortAddresses: ['primary'] },
    ]),
  );
  [first, second] = [fleet.of('first'), fleet.of('second')];
  stoppedLater(await connectNodes(fleet.all.map(({ netns }) => netns)));
  await fleet.each(async ({ netns }) => {
    await netns.addEndpoints([NEAR, MID, FAR, NEAR6, FAR6].map(({ at }) => at));
    await netns.exec('ip', ['addr', 'add', `${SECONDARY}/32`, 'dev', 'eth0']);
    await netns.exec('ip', ['addr', 'add', 'fd00:99::2/64', 'dev', 'eth0', 'nodad']);
    await netns.exec('ip', ['route', 'add', 'fd00:10:96::/112', 'dev', 'eth0']);
  });
  await first.netns.addEndpoints([OWN.at]);
});

const serve = async (
  name: string,
  endpoints: readonly Placed[],
  spec: Record<string, unknown> = {},
  annotations: Record<string, string> = {},
) => await createPlacedService(plane.admin, { name, spec, annotations }, endpoints);

/** Expects both kernels to come to these endpoints. */
async function see(target: string, placed: readonly Placed[]): Promise<void> {
  const backends = placed.map(({ at }) => at);
  await fleet.each(async (node) => await node.sees({ [target]: backends }));
}

/** Expects just these endpoints to answer on both nodes, each of them at least once. */
async function answer(target: string, placed: readonly Placed[]): Promise<void> {
  const wanted = placed.map(({ at }) => at).sort();
  await fleet.each(async ({ nodeName, netns }) => {
    const answers = Object.keys(await netns.dial(target)).sort();
    expect([nodeName, answers]).toEqual([nodeName, wanted]);
  });
}

/** A node whose kube-proxy reads the API server itself. */
async function startDirectNode(): Promise<NodeNetns> {
  const netns = stoppedLater(await createNodeNetns());
  await createNode(plane.admin, 'direct', {}, netns.address);
  const kubeconfig = plane.kubeconfig('kubeProxy', { server: plane.serverAt(netns.hostAddress) });
  const { binaries } = plane;
  const options = { binaries, netns, nodeName: 'direct', kubeconfig, mode: 'nftables' } as const;
  stoppedLater(await startKubeProxy(options));
  return netns;
}

describe('a Service with a traffic policy of its own', () => {
  test('internal Local is left alone: its ClusterIP is for the own node, its NodePort for all', async () => {
    const local = { type: 'NodePort', internalTrafficPolicy: 'Local' };
    const { service, target } = await serve('internal', [OWN, NEAR, FAR], local);
    await first.sees({ [target]: [OWN.at] });
    await second.sees({ [target]: [] });
    const nodePort = `${first.netns.address}:${service.spec.ports[0].nodePort}`;
    const counts = await first.netns.dial(nodePort, 60);
    expect(Object.keys(counts).sort()).toEqual([NEAR.at, FAR.at, OWN.at].sort());
  });

  test('external Local is decided, and keeps the endpoints on its node', async () => {
    const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' };
    const { service, target } = await serve('external', [OWN, NEAR, FAR], local);
    await first.sees({ [target]: [OWN.at, NEAR.at] });
    await second.sees({ [target]: [OWN.at, NEAR.at] });
    const outside = async (client: ServedNode, server: ServedNode, timeoutMs?: number) => {
      const nodePort = `${server.netns.address}:${service.spec.ports[0].nodePort}`;
      return Object.keys(await client.netns.dial(nodePort, 20, timeoutMs));
    };
    expect(await outside(second, first)).toEqual([OWN.at]);
    // A busy machine only makes this the answer of more.
    expect(await outside(first, second, 500)).toEqual(['timeout']);
    const health = async ({ netns }: ServedNode) => {
      const url = `http://${netns.address}:${service.spec.healthCheckNodePort}/healthz`;
      return (await netns.httpGet(url))?.status;
    };
    await poll(
      async () => [await health(first), await health(second)],
      ([own, other]) => own === 200 && other === 503,
      { what: 'the health check node port counts the endpoints of its own node' },
    );
    await setEndpointReady(plane.admin, 'external', 0, false);
    await first.sees({ [target]: [NEAR.at] });
    await poll(
      async () => await health(first),
      (status) => status === 503,
      { what: 'an endpoint that is not ready does not count' },
    );
  });
});

describe('hints', () => {
  const hinted = [
    { ...NEAR, hint: 'z1' },
    { ...MID, hint: 'z2' },
  ];
  const spec = { trafficDistribution: 'PreferClose' };

  test('are cut where a policy selects, so that kube-proxy does not narrow the rest', async () => {
    // That far has none keeps kube-proxy from following hints, until far is cut.
    await labelNode(plane.admin, 'far', { site: 'b' });
    const keys = { topologyKeys: '["site"]' };
    const { target } = await serve('hints-cut', [...hinted, FAR], spec, keys);
    await see(target, [NEAR, MID]);
    await answer(target, [NEAR, MID]);
  });

  test('are kept where none does, for kube-proxy to follow', async () => {
    const { target } = await serve('hints-kept', hinted, spec, { topologyKeys: '[]' });
    await see(target, [NEAR]);
    await annotateService(plane.admin, 'hints-kept', { topologyKeys: '["*"]' });
    await see(target, [NEAR, MID]);
  });
});

describe('what is decided separately', () => {
  test('is each address family', async () => {
    const families = { ipFamilyPolicy: 'RequireDualStack' };
    const { service, target } = await serve('dual', [FAR], families, ZONE_ELSE_ANY);
    const target6 = `[${service.spec.clusterIPs[1]}]:80`;
    await putSlice(plane.admin, { name: 'dual-6', service: 'dual' }, [NEAR6, FAR6]);
    await see(target, [FAR]);
    await see(target6, [NEAR6]);
    await answer(target, [FAR]);
    await answer(target6, [NEAR6]);
    await setEndpointReady(plane.admin, 'dual-6', 0, false);
    await see(target6, [FAR6]);
    await see(target, [FAR]);
  });

  test('is each port, also of one number for UDP and TCP, as DNS has', async () => {
    const { admin } = plane;
    const ports = [
      { name: 'tcp', port: 80 },
      { name: 'udp', port: 80, protocol: 'UDP' },
    ] as const;
    const options = { name: 'ports', ports, annotations: ZONE_ELSE_ANY };
    const { spec } = await createService(admin, options);
    const target = `${spec.clusterIP}:80`;
    const tcp = { name: 'ports-tcp', service: 'ports' };
    await putSlice(admin, tcp, [NEAR, FAR], { name: 'tcp' });
    const udp = { name: 'ports-udp', service: 'ports' };
    await putSlice(admin, udp, [MID, FAR], { name: 'udp', protocol: 'UDP' });
    await see(target, [NEAR]);
    await see(`${target}/udp`, [MID, FAR]);
    await answer(target, [NEAR]);
    await setEndpointReady(admin, 'ports-tcp', 0, false);
    await see(target, [FAR]);
    await see(`${target}/udp`, [MID, FAR]);
  });
});

test('node ports are served at the addresses that a keyword of nodePortAddresses means', async () => {
  const { service, target } = await serve('keyword', [NEAR], { type: 'NodePort' });
  await see(target, [NEAR]);
  const { nodePort } = service.spec.ports[0];
  const answers = async ({ netns }: ServedNode) => {
    const targets = [`${netns.address}:${nodePort}`, `${SECONDARY}:${nodePort}`];
    return await Promise.all(targets.map(async (at) => Object.keys(await netns.dial(at, 5))));
  };
  expect(await answers(first)).toEqual([[NEAR.at], [NEAR.at]]);
  expect(await answers(second)).toEqual([[NEAR.at], ['refused']]);
});

test('flows of UDP move, and end, as those of a kube-proxy at the API server', async () => {
  const { admin } = plane;
  const direct = await startDirectNode();
  await direct.addEndpoints([NEAR.at, FAR.at]);
  const ports = [{ port: 80, protocol: 'UDP' }] as const;
  const add = async (name: string, endpoints: readonly Placed[], annotations = {}) => {
    const { spec } = await createService(admin, {
      name,
      ports,
      annotations,
      spec: { type: 'NodePort' },
    });
    await putSlice(admin, { name, service: name }, endpoints, { protocol: 'UDP' });
    return { cluster: `${spec.clusterIP}:80`, nodePort: spec.ports[0].nodePort };
  };
  const flow = async (value: string, ...nodes: string[]) => {
    for (const node of nodes) await labelNode(admin, node, { flow: value });
  };
  await flow('near', 'near', 'first', 'second');
  await flow('far', 'far');
  const decided = await add('flow', [NEAR, FAR], { topologyKeys: '["flow"]' });
  const placed = await add('flow-direct', [NEAR], { topologyKeys: '[]' });
  const clients = [
    { netns: first.netns, service: decided },
    { netns: second.netns, service: decided },
    { netns: direct, service: placed },
  ];
  /** At the ClusterIP and at the node port, always from the same ports. */
  const answers = async () =>
    await Promise.all(
      clients.map(async ({ netns, service }) => [
        await netns.datagram(service.cluster, 40_000),
        await netns.datagram(`${netns.address}:${service.nodePort}`, 40_001),
      ]),
    );
  const follow = async (label: string, endpoints: readonly Placed[], wanted: readonly string[]) => {
    await flow(label, 'first', 'second');
    const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/flow-direct';
    const addresses = endpoints.map(({ at }) => ({ addresses: [at.replace(':80', '')] }));
    await admin.patch(path, { endpoints: addresses });
    const all = JSON.stringify([wanted, wanted, wanted]);
    await poll(answers, (found) => JSON.stringify(found) === all, { what: `${label}: ${all}` });
  };
  await follow('near', [NEAR], [NEAR.at, NEAR.at]);
  await follow('far', [FAR], [FAR.at, FAR.at]);
  await follow('none', [], ['refused', FAR.at]);
  await follow('near', [NEAR], [NEAR.at, NEAR.at]);
});
