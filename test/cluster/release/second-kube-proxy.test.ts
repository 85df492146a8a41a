import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { eventually } from '../../e2e/support/eventually.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { installKubeProxy } from '../support/kube-proxy.ts';
import { createWeb, type Web } from '../support/web.ts';
import { createWorkspace, type Workspace } from '../support/workspace.ts';

jest.setTimeout(180_000);

/** The section "Some nodes only" of docs/deployment-edge.md, with the overlay for kubeadm. Each test continues the last. */
let cluster: Cluster;
let web: Web;
let workspace: Workspace;
const everyNode = ['edge-1', 'edge-2'];

beforeAll(async () => {
  cluster = await startCluster({ nodeNames: everyNode });
  workspace = createWorkspace(cluster);
  await installKubeProxy(cluster, { mode: 'nftables' });
  web = await createWeb(cluster, ['kubernetes.io/hostname', '*']);
  await workspace.runDocumented('kubeadm', 'kubectl -n kube-system get configmap');
});

afterAll(async () => await cluster?.stop());

const documented = async (beginning: string) =>
  await workspace.runDocumented('Some nodes only', beginning, {
    'manifests/overlays/openyurt': 'my-cluster',
  });

/** DaemonSets with a Pod on a node, of those of kube-proxy. */
async function kubeProxiesOn(node: string): Promise<string[]> {
  const pods = await cluster.admin.list('/api/v1/namespaces/kube-system/pods');
  return pods
    .filter(({ spec }) => spec.nodeName === node)
    .map(({ metadata }) => metadata.labels?.['k8s-app'] ?? '')
    .filter(Boolean)
    .sort();
}

test('the second kube-proxy takes over a node when it gets the label, and only there', async () => {
  await documented('kubectl apply --server-side -k');
  await documented('kubectl -n kube-system patch daemonset kube-proxy --patch-file');
  await documented('kubectl -n kube-system get daemonset kube-proxy -o yaml');
  for (const node of everyNode) await web.reaches(node, everyNode);
  await documented('kubectl label node edge-1 kube-proxy-wrapper.io/kube-proxy=via-wrapper');
  await web.reaches('edge-1', ['edge-1']);
  expect(await kubeProxiesOn('edge-1')).toEqual(['kube-proxy-via-wrapper']);
  expect(await kubeProxiesOn('edge-2')).toEqual(['kube-proxy']);
  await web.reaches('edge-2', everyNode);
});

test('the first kube-proxy is back when the label is gone, and the rest can be removed', async () => {
  await documented('kubectl label node edge-1 kube-proxy-wrapper.io/kube-proxy-');
  await web.reaches('edge-1', everyNode);
  await documented('kubectl -n kube-system delete daemonset kube-proxy-via-wrapper');
  await eventually(
    async () => [await kubeProxiesOn('edge-1'), await kubeProxiesOn('edge-2')].join(),
    (names) => names === 'kube-proxy,kube-proxy',
    { timeoutMs: 60_000, intervalMs: 500 },
  );
  for (const node of everyNode) await web.reaches(node, everyNode);
});
