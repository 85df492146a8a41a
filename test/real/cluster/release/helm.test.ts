import { beforeAll, expect, jest, test } from '@jest/globals';
import { type Cluster, startCluster } from '../../../../harness/cluster/cluster.ts';
import { installKubeProxy, rolledOut } from '../../../../harness/cluster/kube-proxy.ts';
import { createWeb, type Web } from '../../../../harness/cluster/web.ts';
import { createWorkspace, type Workspace } from '../../../../harness/cluster/workspace.ts';
import { ensureHelm } from '../../../../harness/deploy/tools.ts';
import { stoppedLater } from '../../../support/closed-later.ts';

jest.setTimeout(600_000);

/** docs/deployment-helm.md, by its own commands and in its order. Each test continues the last. */
let cluster: Cluster;
let web: Web;
let workspace: Workspace;

beforeAll(async () => {
  const helm = await ensureHelm();
  cluster = stoppedLater(await startCluster({ nodeNames: ['edge-1', 'edge-2'] }));
  workspace = createWorkspace(cluster, { helm });
  await installKubeProxy(cluster, { mode: 'nftables' });
  web = await createWeb(cluster);
  // The first build of helm takes minutes.
}, 600_000);

const documented = async (beginning: string) => await workspace.runDocumented('Helm', beginning);
const asWithKustomize = async (beginning: string) =>
  await workspace.runDocumented('kubeadm', beginning);

test('the chart installs the wrapper, and kube-proxies are pointed at it node by node', async () => {
  await documented('helm install');
  await asWithKustomize(
    'kubectl -n kube-system patch daemonset kube-proxy --patch-file manifests/overlays/kubeadm/point-kube-proxy.yaml',
  );
  await asWithKustomize('kubectl -n kube-system delete pod -l k8s-app=kube-proxy');
  await asWithKustomize('kubectl -n kube-system patch daemonset kube-proxy -p');
  await web.spreads();
});

test('a changed value filters what was unfiltered, and the rollback ends that', async () => {
  await documented('helm upgrade');
  await rolledOut(cluster, 'kube-proxy-wrapper');
  await web.stays();
  await documented('helm rollback');
  await rolledOut(cluster, 'kube-proxy-wrapper');
  await web.spreads();
});

test('the way back leaves a plain kube-proxy and nothing of the chart', async () => {
  await asWithKustomize(
    'kubectl -n kube-system patch daemonset kube-proxy --patch-file manifests/overlays/kubeadm/point-kube-proxy-back.yaml',
  );
  await asWithKustomize('kubectl -n kube-system patch daemonset kube-proxy -p');
  await web.spreads();
  await documented('kubectl -n kube-system get pods -o yaml');
  await web.spreads();
  const name = 'app.kubernetes.io/name=kube-proxy-wrapper';
  expect(await cluster.kubectl(['get', 'cm,sa,ds', '-A', '-l', name, '-o', 'name'])).toBe('');
});
