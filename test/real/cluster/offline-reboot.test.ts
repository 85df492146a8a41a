import { beforeAll, expect, jest, test } from '@jest/globals';
import { dump } from 'js-yaml';
import { type Cluster, startCluster } from '../../../harness/cluster/cluster.ts';
import { POD_IMAGE } from '../../../harness/cluster/images.ts';
import { installKubeProxy, rolledOut } from '../../../harness/cluster/kube-proxy.ts';
import { API_SERVER } from '../../../harness/cluster/network.ts';
import type { ClusterNode } from '../../../harness/cluster/node.ts';
import { createNodeProbe } from '../../../harness/cluster/node-probe.ts';
import {
  createOtherServices,
  createServiceOnNodes,
  EVERYWHERE,
  ON_NODES,
  serveOnNode,
} from '../../../harness/cluster/other-services.ts';
import { writeOverlay } from '../../../harness/cluster/overlay.ts';
import { podAddress } from '../../../harness/cluster/pod-address.ts';
import { untilInSnapshots, untilSaved } from '../../../harness/cluster/saved-state.ts';
import { createWeb, type Web } from '../../../harness/cluster/web.ts';
import { createWorkspace, type Workspace } from '../../../harness/cluster/workspace.ts';
import { createWrapperFigures } from '../../../harness/cluster/wrapper-figures.ts';
import { stoppedLater } from '../../support/closed-later.ts';

jest.setTimeout(600_000);

/**
 * A node loses its power while it is cut off, and boots without the API server: its kubelet, its container runtime and
 * the tables of its kernel start from nothing. The wrapper, kube-proxy and the test servers are static Pods, installed
 * by the commands of docs/operations-cut-off.md, where the DaemonSets ran before. Then the same happens to all nodes of
 * its site at once, with their relays. Each test continues the last.
 */
const RELAY = 'kube-proxy-wrapper-relay';
/** Of the relays, where static Pods have it. */
const CA = '/etc/kube-proxy-wrapper/ca.crt';
let cluster: Cluster;
let node: ClusterNode;
let probe: ReturnType<typeof createNodeProbe>;
let workspace: Workspace;
let web: Web;

beforeAll(async () => {
  cluster = stoppedLater(await startCluster({ nodeNames: ['edge-1', 'edge-2'] }));
  node = cluster.node('edge-1');
  probe = createNodeProbe(cluster, 'edge-1');
  workspace = createWorkspace(cluster);
  await workspace.run('kubectl label node edge-1 edge-2 site=a');
  await workspace.runDocumented('The certificate', 'openssl req', {
    'IP:127.0.0.1,DNS:localhost': `DNS:${RELAY}.kube-system.svc`,
  });
  await workspace.runDocumented('Set up relays', 'kubectl -n kube-system create secret');
  // No node has the label of relays yet.
  writeOverlay(workspace, ['state', 'relay']);
  await workspace.run('kubectl apply --server-side -k my-cluster');
  await installKubeProxy(cluster, { mode: 'nftables', server: 'http://127.0.0.1:10360' });
  await rolledOut(cluster, 'kube-proxy-wrapper');
  await rolledOut(cluster, 'kube-proxy');
  await installStaticPods();
  await createOrdinaryPod();
  web = await createWeb(cluster, ['kubernetes.io/hostname', '*'], 'static Pods');
  await createOtherServices(cluster, 'edge-1', 'web-edge-1');
  await createServiceOnNodes(cluster);
  await probe.reaches(web.url, ['edge-1']);
  await probe.reaches(EVERYWHERE, ['edge-1', 'edge-2']);
  await untilSaved(cluster, node);
});

async function installStaticPods(): Promise<void> {
  await workspace.runDocumented('systemd', 'kubectl apply --server-side');
  await workspace.runDocumented('systemd', 'kubectl config view');
  workspace.write('config.yaml', dump({ relays: { service: `kube-system/${RELAY}`, caFile: CA } }));
  await workspace.runDocumented('Static Pods', 'kubectl -n kube-system get configmap', {
    'edge-1': 'edge-1 edge-2',
  });
  const commands = workspace.documented('Static Pods', 'install -d');
  for (const each of cluster.nodes) {
    await createNodeProbe(cluster, each.name).runs([]);
    const authority = `install -D -m 0644 tls.crt ${CA}`;
    await each.exec('bash', ['-euc', `cd ${workspace.folder}\n${authority}\n${commands}`]);
  }
}

/** A Pod from the API server, which a kubelet without an API server does not know. */
async function createOrdinaryPod(): Promise<void> {
  await cluster.admin.create('/api/v1/namespaces/default/pods', {
    metadata: { name: 'ordinary' },
    spec: {
      nodeName: 'edge-1',
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'ordinary', image: POD_IMAGE }],
    },
  });
  await probe.runs(['kube-proxy', 'kube-proxy-wrapper', 'ordinary']);
}

/** For docs/operations-cut-off.md. */
function note(what: string, since: number): void {
  process.stderr.write(`${what}: ${Math.round(performance.now() - since)} ms\n`);
}

test('static Pods reach their Service at the new address, though the node has booted without the API server', async () => {
  const before = await podAddress(node, 'web-edge-1');
  await node.rebootCutOff();
  const start = performance.now();
  await node.startKubelet();
  await probe.runs(['kube-proxy', 'kube-proxy-wrapper', 'web']);
  note('kubelet started until all static Pods run', start);
  await probe.reaches(web.url, ['edge-1']);
  note('kubelet started until the Service is reached', start);
  await web.reaches('edge-1', ['edge-1']);
  expect(await podAddress(node, 'web-edge-1')).not.toBe(before);
});

test('a Service without a policy reaches the Pods of both nodes', async () => {
  await probe.reaches(EVERYWHERE, ['edge-1', 'edge-2']);
});

test('a Pod that is not static does not run until the link returns', async () => {
  await probe.runs(['kube-proxy', 'kube-proxy-wrapper', 'web']);
  await node.reconnect();
  await probe.runs(['kube-proxy', 'kube-proxy-wrapper', 'ordinary', 'web']);
});

test('once the link has returned, changes are followed', async () => {
  await web.setReady('edge-1', false);
  await probe.reaches(web.url, ['edge-2']);
  await web.setReady('edge-1', true);
  await probe.reaches(web.url, ['edge-1']);
});

const ALL = ['edge-1', 'edge-2'];
/**
 * Requests fail at once. Where packets are lost instead, a kubelet that has had Pods of the API server with volumes
 * mounts nothing for 30 to 60 s: it asks for its Node first.
 */
const NO_WAY = ['unreachable', `${API_SERVER.address}/32`];
const STATIC = ['kube-proxy', 'kube-proxy-wrapper', 'web'];
let lostAt: number;

test('a site that boots without its link shows its snapshots, and its nodes reach each other', async () => {
  await workspace.run('kubectl label node edge-1 edge-2 kube-proxy-wrapper.io/relay=true');
  await rolledOut(cluster, RELAY);
  const relays = cluster.nodes.map(({ address }) => `${address}:10364`);
  for (const each of cluster.nodes) await untilInSnapshots(each, [...relays, 'on-nodes']);
  await Promise.all(cluster.nodes.map(async (each) => await each.powerOff()));
  await Promise.all(cluster.nodes.map(async (each) => await each.powerOn()));
  for (const each of cluster.nodes) await each.exec('ip', ['route', 'add', ...NO_WAY]);
  lostAt = Date.now();
  await workspace.run(
    `kubectl annotate service on-nodes --overwrite 'topologyKeys=["kubernetes.io/hostname"]'`,
  );
  const start = performance.now();
  await Promise.all(cluster.nodes.map(async (each) => await each.startKubelet()));
  for (const each of cluster.nodes) serveOnNode(cluster, each);
  for (const { name } of cluster.nodes) await createNodeProbe(cluster, name).runs(STATIC);
  note('kubelets started until all static Pods run', start);
  for (const each of cluster.nodes) {
    await createNodeProbe(cluster, each.name).reaches(ON_NODES, ALL);
    note(`kubelets started until ${each.name} reaches both nodes`, start);
    await createNodeProbe(cluster, each.name).reaches(web.url, [each.name]);
  }
});

test('once its link returns during that boot, it has the newest state and no older one afterwards', async () => {
  const start = performance.now();
  for (const each of cluster.nodes) await each.exec('ip', ['route', 'del', ...NO_WAY]);
  for (const { name } of cluster.nodes) {
    await createNodeProbe(cluster, name).reaches(ON_NODES, [name]);
    note(`link returned until ${name} has the newest state`, start);
  }
  const figures = createWrapperFigures(cluster);
  const relays = cluster.nodes.map(({ address }) => `${address}:10364`);
  for (const { name } of cluster.nodes) await figures.reads(name, relays);
  for (const { name } of cluster.nodes) {
    expect(await createNodeProbe(cluster, name).dial(ON_NODES)).toEqual([name]);
  }
  const lists = figures.lists(lostAt);
  process.stderr.write(`lists at the API server: ${lists.join(', ')}\n`);
  // Those of static Pods have no Pod. A node whose wait for relays is over lists each collection once.
  expect(lists.filter((each) => each.startsWith(RELAY)).length).toBeLessThanOrEqual(4);
  expect(lists.filter((each) => !each.startsWith(RELAY)).length).toBeLessThanOrEqual(4);
});
