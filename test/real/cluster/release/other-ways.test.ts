import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { type Cluster, startCluster } from '../../../../harness/cluster/cluster.ts';
import { installKubeProxy } from '../../../../harness/cluster/kube-proxy.ts';
import { createWeb, isReady, type Web } from '../../../../harness/cluster/web.ts';
import { createWorkspace, type Workspace } from '../../../../harness/cluster/workspace.ts';
import { poll } from '../../../../harness/poll.ts';
import { stoppedLater } from '../../../support/closed-later.ts';

jest.setTimeout(600_000);

/**
 * Two documented ways to install the wrapper, by their own commands and in their order. Each ends with a plain
 * kube-proxy, and each test continues the last.
 */
let cluster: Cluster;
let web: Web;
let workspace: Workspace;
const everyNode = ['edge-1', 'edge-2'];

beforeAll(async () => {
  cluster = stoppedLater(await startCluster({ nodeNames: everyNode }));
  workspace = createWorkspace(cluster);
  await installKubeProxy(cluster, { mode: 'nftables' });
  web = await createWeb(cluster, ['kubernetes.io/hostname', '*']);
});

/** Containers of the kube-proxy on each node, as `<DaemonSet>: <container>,<container>`, by the order of nodes. */
async function kubeProxies(): Promise<string[]> {
  const pods = await cluster.admin.list(
    '/api/v1/namespaces/kube-system/pods?labelSelector=k8s-app',
  );
  const names = (list: readonly { readonly name: string }[] = []) => list.map(({ name }) => name);
  return pods
    .filter(isReady)
    .sort((a, b) => (a.spec.nodeName < b.spec.nodeName ? -1 : 1))
    .map(({ metadata, spec }) => {
      const containers = [...names(spec.initContainers), ...names(spec.containers)];
      return `${metadata.labels?.['k8s-app']}: ${containers}`;
    });
}

const PLAIN = 'kube-proxy: kube-proxy';

describe('docs/deployment-sidecar.md', () => {
  const documented = async (beginning: string) =>
    await workspace.runDocumented('Sidecar', beginning);
  const rollTheRest = async () =>
    await workspace.runDocumented(
      'kubeadm',
      'kubectl -n kube-system patch daemonset kube-proxy -p',
    );
  const withWrapper = `kube-proxy: kube-proxy-wrapper-own-state-dir,kube-proxy-wrapper,kube-proxy`;

  test('the wrapper runs in the Pod of the first kube-proxy, then in that of every kube-proxy', async () => {
    await documented('sed -i');
    await web.reaches('edge-1', ['edge-1']);
    await web.reaches('edge-2', everyNode);
    await rollTheRest();
    await web.stays();
    expect(await kubeProxies()).toEqual([withWrapper, withWrapper]);
  });

  test('the way back leaves a plain kube-proxy', async () => {
    await documented('kubectl -n kube-system patch daemonset kube-proxy --patch-file');
    await web.reaches('edge-1', everyNode);
    await rollTheRest();
    await documented('kubectl delete -k manifests/overlays/sidecar');
    await web.reaches('edge-2', everyNode);
    expect(await kubeProxies()).toEqual([PLAIN, PLAIN]);
  });
});

describe('the section "Some nodes only" of docs/deployment-edge.md, with the overlay for kubeadm', () => {
  const documented = async (beginning: string) =>
    await workspace.runDocumented('Some nodes only', beginning, {
      'manifests/overlays/openyurt': 'my-cluster',
    });

  test('the second kube-proxy takes over a node when it gets the label, and only there', async () => {
    await workspace.runDocumented('kubeadm', 'kubectl -n kube-system get configmap');
    await documented('kubectl apply --server-side --force-conflicts -k');
    await documented('kubectl -n kube-system patch daemonset kube-proxy --patch-file');
    await documented('kubectl -n kube-system get daemonset kube-proxy -o yaml');
    await web.spreads();
    await documented('kubectl label node edge-1 kube-proxy-wrapper.io/kube-proxy=via-wrapper');
    await web.reaches('edge-1', ['edge-1']);
    expect(await kubeProxies()).toEqual(['kube-proxy-via-wrapper: kube-proxy', PLAIN]);
    await web.reaches('edge-2', everyNode);
  });

  test('the first kube-proxy is back when the label is gone, and the rest can be removed', async () => {
    await documented('kubectl label node edge-1 kube-proxy-wrapper.io/kube-proxy-');
    await web.reaches('edge-1', everyNode);
    await documented('kubectl -n kube-system delete daemonset kube-proxy-via-wrapper');
    await poll(kubeProxies, (found) => found.join() === `${PLAIN},${PLAIN}`, {
      timeoutMs: 180_000,
      intervalMs: 500,
    });
    await web.spreads();
  });
});
