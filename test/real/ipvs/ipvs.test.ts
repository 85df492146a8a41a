import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, jest, test } from '@jest/globals';
import {
  annotateService,
  createNode,
  deleteService,
  labelNode,
} from '../../../harness/api-server/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../../../harness/api-server/control-plane.ts';
import { startGuestRequests, startGuestServer } from '../../../harness/ipvs/guest-requests.ts';
import { type IpvsNode, startIpvsNode } from '../../../harness/ipvs/ipvs-node.ts';
import { type Machine, startMachine } from '../../../harness/ipvs/machine.ts';
import { parseNftables } from '../../../harness/kernel-tables/parse-nftables.ts';
import {
  createPlacedService,
  type Placed,
  setEndpointReady,
} from '../../../harness/node/placed-service.ts';
import { poll } from '../../../harness/poll.ts';
import { stoppedLater } from '../../support/closed-later.ts';

/** A stock kube-proxy in IPVS mode behind the wrapper, on the node edge1 of site a. It hides withheld Services. */
jest.setTimeout(900_000);

const ZONE = 'topology.kubernetes.io/zone';
const NEAR: Placed = { at: '10.244.1.5:8080', node: 'near', zone: 'z1' };
const FAR: Placed = { at: '10.244.1.6:8080', node: 'far', zone: 'z2' };
/** Its slice still says another zone than the label of its node, which decides. */
const HERE: Placed = { at: '10.244.1.8:8080', node: 'edge1', zone: 'z2' };

let plane: ControlPlane;
let machine: Machine;
let edge1: IpvsNode;
let web: VirtualServers;
let plain: VirtualServers;

/** Of a Service: at its cluster IP and, as `TCP ip:port`, there and at its node port. */
interface VirtualServers {
  readonly clusterIP: string;
  readonly healthPort: number;
  readonly cluster: string;
  readonly nodePort: string;
}

beforeAll(async () => {
  plane = stoppedLater(await startControlPlane());
  machine = stoppedLater(await startMachine());
  await createNode(plane.admin, 'near', { site: 'a', [ZONE]: 'z1' });
  await createNode(plane.admin, 'far', { site: 'b', [ZONE]: 'z2' });
  web = await serve('web', '["site","*"]', [NEAR, FAR]);
  plain = await serve('plain', '[]', [NEAR, FAR]);
  const configFile = join(plane.folder, 'wrapper-settings.yaml');
  writeFileSync(configFile, 'cloud:\n  mode: passthrough\n');
  const labels = { site: 'a', [ZONE]: 'z1' };
  edge1 = stoppedLater(
    await startIpvsNode({ plane, machine, nodeName: 'edge1', labels, configFile }),
  );
});

async function serve(
  name: string,
  topologyKeys: string,
  endpoints: readonly Placed[],
  more: Readonly<Record<string, unknown>> = {},
): Promise<VirtualServers> {
  const options = { name, annotations: { topologyKeys }, spec: { type: 'NodePort', ...more } };
  const { service, target } = await createPlacedService(plane.admin, options, endpoints);
  const { clusterIP, healthCheckNodePort, ports } = service.spec;
  return {
    clusterIP,
    healthPort: healthCheckNodePort,
    cluster: `TCP ${target}`,
    nodePort: `TCP 10.77.1.2:${ports[0].nodePort}`,
  };
}

/**
 * Waits until the node sends new connections at these virtual servers to just these endpoints, and has the addresses
 * of just these Services; undefined: it has no such virtual server.
 */
async function expectTables(
  wanted: readonly (readonly [server: string, endpoints: readonly Placed[] | undefined])[],
  services: readonly VirtualServers[] = [web, plain],
): Promise<void> {
  const addresses = ['10.96.0.1', ...services.map(({ clusterIP }) => clusterIP)].sort();
  const all = JSON.stringify([
    ...wanted.map(([server, endpoints]) => [server, endpoints?.map(({ at }) => at).sort()]),
    addresses,
  ]);
  const read = async () => {
    const tables = await edge1.readTables();
    const found = wanted.map(([server]) => [server, tables.backends.get(server)]);
    return JSON.stringify([...found, tables.addresses]);
  };
  try {
    // Emulated, and maybe on a slow or busy machine: kube-proxy's first table has taken 19 s on an idle one.
    const options = { timeoutMs: 240_000, intervalMs: 100, what: all };
    await poll(read, (found) => found === all, options);
  } catch (error) {
    const text = `kube-proxy says:\n${await edge1.kubeProxyLog()}`;
    throw new Error(`${(error as Error).message}\n${text}`, { cause: error });
  }
}

/** Makes a change and expects the Service's table to follow, at both of its addresses, and all else to stay. */
async function follow(change: () => Promise<unknown>, endpoints: readonly Placed[]) {
  await change();
  await expectTables([
    [web.cluster, endpoints],
    [web.nodePort, endpoints],
    [plain.cluster, [NEAR, FAR]],
    [plain.nodePort, [NEAR, FAR]],
  ]);
}

test('the table follows labels of the node, the annotation of the Service, and readiness', async () => {
  const { admin } = plane;
  const label = async (site: string | null) => await labelNode(admin, 'edge1', { site });
  const annotate = async (topologyKeys: string | null) =>
    await annotateService(admin, 'web', { topologyKeys });
  const ready = async (value: boolean) => await setEndpointReady(admin, 'web', 0, value);
  await follow(async () => {}, [NEAR]);
  await follow(() => label('b'), [FAR]);
  await follow(() => label(null), [NEAR, FAR]);
  await follow(() => label('a'), [NEAR]);
  await follow(() => annotate('["kubernetes.io/hostname"]'), []);
  await follow(() => annotate('["site","*"]'), [NEAR]);
  await follow(() => ready(false), [FAR]);
  await follow(() => ready(true), [NEAR]);
});

test('with externalTrafficPolicy Local, endpoints of its own node stay, for the node port and its health check', async () => {
  const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' };
  const external = await serve('external', `["${ZONE}"]`, [HERE, NEAR, FAR], local);
  await expectTables(
    [
      [external.cluster, [HERE, NEAR]],
      [external.nodePort, [HERE]],
    ],
    [web, plain, external],
  );
  const health = `http://10.77.1.2:${external.healthPort}/healthz`;
  // kube-proxy opens the port of the health check after it has written its table.
  await poll(
    async () => await edge1.exec(`wget -q -O - ${health}`),
    (answer) => answer.includes('"localEndpoints": 1'),
    { timeoutMs: 60_000, intervalMs: 250, what: 'the health check of the node port' },
  );
  await deleteService(plane.admin, 'external');
});

test('a Service with ready endpoints in the cloud only has no virtual server and no address, until a nearer one is ready', async () => {
  const { admin } = plane;
  await labelNode(admin, 'edge1', { 'node-role.kubernetes.io/edge': '' });
  const cloudy = await serve('cloudy', 'fab-proxy', [HERE, FAR]);
  const ready = async (index: number, value: boolean) =>
    await setEndpointReady(admin, 'cloudy', index, value);
  const shown = [web, plain, cloudy];
  await expectTables([[cloudy.cluster, [HERE]]], shown);
  await ready(0, false);
  await expectTables([[cloudy.cluster, undefined]]);
  await ready(0, true);
  await expectTables([[cloudy.cluster, [HERE]]], shown);
  // Without an endpoint on the edge and in the cloud the address stays, and refuses.
  await ready(1, false);
  await ready(0, false);
  await expectTables([[cloudy.cluster, []]], shown);
});

test('a Service that is deleted leaves neither virtual server nor address', async () => {
  await deleteService(plane.admin, 'cloudy');
  await deleteService(plane.admin, 'web');
  await expectTables([[web.cluster, undefined]], [plain]);
});

test('a node changes from IPVS to nftables behind the wrapper, and nothing of IPVS is left', async () => {
  const site = await serve('site', '["site","*"]', [NEAR, FAR]);
  await expectTables([[site.cluster, [NEAR]]], [plain, site]);
  await startGuestServer(machine, NEAR.at);
  const requests = await startGuestRequests(edge1, `http://${site.clusterIP}/`);
  const areAnswered = async () =>
    await poll(requests.answered, (count) => count >= 10, {
      timeoutMs: 60_000,
      intervalMs: 500,
      what: 'ten requests in a row are answered',
    });
  await areAnswered();
  await edge1.changeMode('nftables');
  const backends = async () => parseNftables(await edge1.exec('nft -j list table ip kube-proxy'));
  const wanted = [site.cluster, plain.cluster].map((server) => [server]);
  const found = async () => {
    const table = await backends();
    return JSON.stringify(wanted.map(([server = '']) => table.get(server)));
  };
  const all = JSON.stringify([[NEAR.at], [NEAR.at, FAR.at].sort()]);
  await poll(found, (text) => text === all, { timeoutMs: 240_000, what: all });
  await areAnswered();
  const counts = await requests.stop();
  process.stderr.write(`requests while the mode changed: ${JSON.stringify(counts)}\n`);
  // As long as kube-proxy takes to its first table, in an emulated machine.
  expect(counts.seconds).toBeLessThan(60);
  expect(await edge1.exec('grep -c TCP /proc/net/ip_vs || true')).toBe('0\n');
  expect(await edge1.exec('ip link show kube-ipvs0 || true')).toContain('does not exist');
  expect(await edge1.exec('ipset list -n')).not.toContain('KUBE-');
  expect(await edge1.exec('iptables-save')).not.toContain('KUBE-SERVICES');
});
