import { beforeAll, expect, jest, test } from '@jest/globals';
import { type Cluster, startCluster } from '../../../harness/cluster/cluster.ts';
import { POD_IMAGE } from '../../../harness/cluster/images.ts';
import { installKubeProxy, rolledOut } from '../../../harness/cluster/kube-proxy.ts';
import type { ClusterNode } from '../../../harness/cluster/node.ts';
import { createNodeProbe } from '../../../harness/cluster/node-probe.ts';
import { createOtherServices, EVERYWHERE } from '../../../harness/cluster/other-services.ts';
import { writeOverlay } from '../../../harness/cluster/overlay.ts';
import { podAddress } from '../../../harness/cluster/pod-address.ts';
import { untilSaved } from '../../../harness/cluster/saved-state.ts';
import { createWeb, type Web } from '../../../harness/cluster/web.ts';
import { createWorkspace, type Workspace } from '../../../harness/cluster/workspace.ts';
import { stoppedLater } from '../../support/closed-later.ts';

jest.setTimeout(180_000);

/**
 * A node loses its power while it is cut off, and boots without the API server: its kubelet, its container runtime and
 * the tables of its kernel start from nothing. The wrapper, kube-proxy and the test servers are static Pods, installed
 * by the commands of docs/operations-cut-off.md, where the DaemonSets ran before. Each test continues the last.
 */
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
  writeOverlay(workspace, ['state']);
  await workspace.run('kubectl apply --server-side -k my-cluster');
  await rolledOut(cluster, 'kube-proxy-wrapper');
  await installKubeProxy(cluster, { mode: 'nftables', server: 'http://127.0.0.1:10360' });
  await rolledOut(cluster, 'kube-proxy');
  await installStaticPods();
  await createOrdinaryPod();
  web = await createWeb(cluster, ['kubernetes.io/hostname', '*'], 'static Pods');
  await createOtherServices(cluster, 'edge-1', 'web-edge-1');
  await probe.reaches(web.url, ['edge-1']);
  await probe.reaches(EVERYWHERE, ['edge-1', 'edge-2']);
  await untilSaved(cluster, node);
});

async function installStaticPods(): Promise<void> {
  await workspace.runDocumented('systemd', 'kubectl apply --server-side');
  await workspace.runDocumented('systemd', 'kubectl config view');
  workspace.write('config.yaml', 'logLevel: info\n');
  await workspace.runDocumented('Static Pods', 'kubectl -n kube-system get configmap', {
    'edge-1': 'edge-1 edge-2',
  });
  const commands = workspace.documented('Static Pods', 'install -d');
  for (const each of cluster.nodes) {
    await createNodeProbe(cluster, each.name).runs([]);
    await each.exec('bash', ['-euc', `cd ${workspace.folder}\n${commands}`]);
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
