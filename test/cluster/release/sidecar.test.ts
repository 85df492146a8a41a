import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { installKubeProxy } from '../support/kube-proxy.ts';
import { createWeb, isReady, type Web } from '../support/web.ts';
import { createWorkspace, type Workspace } from '../support/workspace.ts';

jest.setTimeout(180_000);

/** docs/deployment-sidecar.md, by its own commands and in its order. Each test continues the last. */
let cluster: Cluster;
let web: Web;
let workspace: Workspace;
const everyNode = ['edge-1', 'edge-2'];

beforeAll(async () => {
  cluster = await startCluster({ nodeNames: everyNode });
  workspace = createWorkspace(cluster);
  await installKubeProxy(cluster, { mode: 'nftables' });
  web = await createWeb(cluster, ['kubernetes.io/hostname', '*']);
});

afterAll(async () => await cluster?.stop());

const documented = async (beginning: string) => await workspace.runDocumented('Sidecar', beginning);

async function containersOfKubeProxies(): Promise<(string | undefined)[]> {
  const path = '/api/v1/namespaces/kube-system/pods?labelSelector=k8s-app%3Dkube-proxy';
  const pods = await cluster.admin.list(path);
  return pods
    .filter(isReady)
    .map(({ status }) => [...(status.initContainerStatuses ?? []), ...status.containerStatuses])
    .map((all: { name: string }[]) => all.map(({ name }) => name).join());
}

const withWrapper = 'kube-proxy-wrapper-own-state-dir,kube-proxy-wrapper,kube-proxy';

test('the wrapper runs in the Pod of the first kube-proxy, and the other one is as before', async () => {
  await documented('sed -i');
  await web.reaches('edge-1', ['edge-1']);
  await web.reaches('edge-2', everyNode);
});

test('then it runs in the Pod of every kube-proxy', async () => {
  await documented('kubectl -n kube-system patch daemonset kube-proxy -p');
  for (const node of everyNode) await web.reaches(node, [node]);
  expect(await containersOfKubeProxies()).toEqual([withWrapper, withWrapper]);
});

test('the way back leaves a plain kube-proxy', async () => {
  await documented('kubectl -n kube-system patch daemonset kube-proxy --patch-file');
  await web.reaches('edge-1', everyNode);
  await documented('kubectl -n kube-system patch daemonset kube-proxy -p');
  await documented('kubectl delete -k manifests/overlays/sidecar');
  await web.reaches('edge-2', everyNode);
  expect(await containersOfKubeProxies()).toEqual(['kube-proxy', 'kube-proxy']);
});
