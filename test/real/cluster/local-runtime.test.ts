import { beforeAll, expect, jest, test } from '@jest/globals';
import { type Cluster, startCluster } from '../../../harness/cluster/cluster.ts';
import { installKubeProxy, rolledOut } from '../../../harness/cluster/kube-proxy.ts';
import type { ClusterNode } from '../../../harness/cluster/node.ts';
import { createNodeProbe } from '../../../harness/cluster/node-probe.ts';
import {
  changeSecondNetwork,
  createOtherServices,
  EVERYWHERE,
  SECOND_NETWORK,
} from '../../../harness/cluster/other-services.ts';
import { writeOverlay } from '../../../harness/cluster/overlay.ts';
import { podAddress } from '../../../harness/cluster/pod-address.ts';
import { untilSaved } from '../../../harness/cluster/saved-state.ts';
import { createWeb, type Web } from '../../../harness/cluster/web.ts';
import { createWorkspace, type Workspace } from '../../../harness/cluster/workspace.ts';
import { poll } from '../../../harness/poll.ts';
import { stoppedLater } from '../../support/closed-later.ts';

jest.setTimeout(600_000);

/**
 * All containers of a cut-off node are killed, and its kubelet, which keeps running, starts them again. The Pod comes
 * back with another address, and the wrapper and kube-proxy start without an API server. A kubelet that starts
 * without one is in offline-reboot.test.ts.
 *
 * Connections are made from the node and from a Pod, and the kernel's tables are read. Each test continues the last.
 */
/** How long traffic is watched that must not arrive, in milliseconds. */
const WATCHED_MS = 15_000;

let cluster: Cluster;
let node: ClusterNode;
let probe: ReturnType<typeof createNodeProbe>;
let workspace: Workspace;
let web: Web;
let pod: string;

beforeAll(async () => {
  cluster = stoppedLater(await startCluster({ nodeNames: ['edge-1', 'edge-2'] }));
  node = cluster.node('edge-1');
  probe = createNodeProbe(cluster, 'edge-1');
  workspace = createWorkspace(cluster);
  await installKubeProxy(cluster, { mode: 'nftables', server: 'http://127.0.0.1:10360' });
  await install(['state']);
  await rolledOut(cluster, 'kube-proxy');
  web = await createWeb(cluster, ['kubernetes.io/hostname', '*']);
  pod = await web.podOn('edge-1');
  await web.reaches('edge-1', ['edge-1']);
  await createOtherServices(cluster, 'edge-1', pod);
  await probe.reaches(EVERYWHERE, ['edge-1', 'edge-2']);
  await programs([SECOND_NETWORK.unchanged, SECOND_NETWORK.before]);
});

async function install(components: readonly string[]): Promise<void> {
  writeOverlay(workspace, components);
  await workspace.run('kubectl apply --server-side --force-conflicts -k my-cluster');
  await rolledOut(cluster, 'kube-proxy-wrapper');
}

const address = async () => await podAddress(node, pod);

/**
 * Cuts the node off and kills all containers, and waits until the Pod, the wrapper and kube-proxy run again. Returns
 * both addresses.
 */
async function killCutOff(): Promise<{ readonly before: string; readonly after: string }> {
  const { value: before = '' } = await poll(address, (found = '') => found !== '', {
    timeoutMs: 180_000,
    intervalMs: 200,
    what: `${pod} has an address`,
  });
  await untilSaved(cluster, node);
  await node.cutOff();
  await node.killContainers();
  // What is there later, the next kube-proxy has written.
  await node.exec('nft', ['delete', 'table', 'ip', 'kube-proxy']);
  const { value: after = '' } = await poll(
    address,
    (now) => now !== undefined && now !== '' && now !== before,
    { timeoutMs: 180_000, intervalMs: 200, what: `${pod} has another address than ${before}` },
  );
  await probe.runs(['kube-proxy', 'kube-proxy-wrapper', 'web']);
  return { before, after };
}

/** Whether an address is in the tables of the kernel. */
async function isProgrammed(ip: string): Promise<boolean> {
  const tables = await node.exec('nft', ['list', 'ruleset']);
  return new RegExp(`\\b${ip.replaceAll('.', '\\.')}\\b`).test(tables);
}

/** Waits until these addresses, if any, are those of the second network in the tables of the kernel. */
async function programs(addresses: readonly string[]): Promise<void> {
  await poll(secondNetwork, (found) => found.join() === addresses.join(), {
    timeoutMs: 180_000,
    intervalMs: 200,
    what: `the kernel has [${addresses.join()}]`,
  });
}

async function secondNetwork(): Promise<string[]> {
  const known = Object.values(SECOND_NETWORK);
  const found = await Promise.all(known.map(async (each) => await isProgrammed(each)));
  return known.filter((_, index) => found[index]);
}

test('without localRuntime, connections go to the address that the Pod had', async () => {
  const { before, after } = await killCutOff();
  const end = performance.now() + WATCHED_MS;
  while (performance.now() < end) expect(await probe.dial(web.url)).not.toContain('edge-1');
  await programs([SECOND_NETWORK.unchanged, SECOND_NETWORK.before]);
  expect(await isProgrammed(before)).toBe(true);
  expect(await isProgrammed(after)).toBe(false);
  await node.reconnect();
  await probe.reaches(web.url, ['edge-1']);
});

test('with localRuntime, they reach the address that it has now', async () => {
  // With `scrape` the probes, and what is read below, are at the node's address.
  await install(['state', 'local-runtime', 'scrape']);
  await web.reaches('edge-1', ['edge-1']);
  const { before, after } = await killCutOff();
  await probe.reaches(web.url, ['edge-1']);
  expect(await isProgrammed(after)).toBe(true);
  expect(await isProgrammed(before)).toBe(false);
  await web.reaches('edge-1', ['edge-1']);
  await programs([]);
});

test('endpoints of other nodes are left alone meanwhile', async () => {
  await probe.reaches(EVERYWHERE, ['edge-1', 'edge-2']);
});

test('when the link returns, what the API server sends is shown immediately', async () => {
  await node.reconnect();
  await changeSecondNetwork(cluster);
  // The other address was not sent again, so it is still corrected.
  await programs([SECOND_NETWORK.after]);
});

test('half a minute later, everything is shown as the API server has it', async () => {
  const current = await address();
  await poll(
    async () => (await cluster.admin.get(`/api/v1/namespaces/default/pods/${pod}`)).status.podIP,
    (ip) => ip === current,
    { timeoutMs: 180_000, intervalMs: 500, what: 'the kubelet has reported the new address' },
  );
  const url = `http://${node.address}:10361/readyz`;
  const readyz = async () => await node.exec(cluster.binaries.podProgram, ['dial', url, '1']);
  await poll(readyz, (said) => said.includes('local-runtime ok\\n'), {
    timeoutMs: 180_000,
    intervalMs: 500,
    what: 'nothing is corrected any more',
  });
  await probe.reaches(web.url, ['edge-1']);
  await programs([SECOND_NETWORK.unchanged, SECOND_NETWORK.after]);
});
