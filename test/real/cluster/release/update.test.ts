import { cpSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, jest, test } from '@jest/globals';
import { type Cluster, startCluster } from '../../../../harness/cluster/cluster.ts';
import { installKubeProxy, rolledOut } from '../../../../harness/cluster/kube-proxy.ts';
import { buildRelease10 } from '../../../../harness/cluster/release-1-0.ts';
import { createWeb, isReady, type Web } from '../../../../harness/cluster/web.ts';
import { createWorkspace, type Workspace } from '../../../../harness/cluster/workspace.ts';
import { poll } from '../../../../harness/poll.ts';
import { stoppedLater } from '../../../support/closed-later.ts';

jest.setTimeout(300_000);

/**
 * An update from the real 1.0.0 with its own manifests, whose user is 65532, and the way back. Each test continues the
 * last.
 */
let cluster: Cluster;
let web: Web;
let workspace: Workspace;
const everyNode = ['edge-1', 'edge-2'];

beforeAll(async () => {
  cluster = stoppedLater(await startCluster({ nodeNames: everyNode }));
  workspace = createWorkspace(cluster);
  const old = await buildRelease10(join(cluster.folder, 'images'));
  cpSync(join(old.folder, 'manifests'), join(workspace.folder, '1.0.0/manifests'), {
    recursive: true,
  });
  for (const node of cluster.nodes) await node.importImage(old.image);
  await installKubeProxy(cluster, { mode: 'nftables', server: 'http://127.0.0.1:10360' });
  // The same kustomization, beside the manifests of 1.0.0.
  await workspace.runDocumented('kubeadm', 'kubectl -n kube-system get configmap', {
    'my-cluster': '1.0.0/my-cluster',
    'newTag: 1.1.0': 'newTag: 1.0.0',
  });
  await workspace.run('kubectl apply --server-side -k 1.0.0/my-cluster');
  await rolledOut(cluster, 'kube-proxy-wrapper');
  await rolledOut(cluster, 'kube-proxy');
  web = await createWeb(cluster, ['kubernetes.io/hostname', '*']);
  await web.stays();
}, 400_000);

async function wrapperPods() {
  const path = '/api/v1/namespaces/kube-system/pods';
  const label = 'app.kubernetes.io%2Fname%3Dkube-proxy-wrapper';
  return await cluster.admin.list(`${path}?labelSelector=${label}`);
}

/** @param before run on each node before its Pod is deleted */
async function deletePodsNodeByNode(before: (node: string) => Promise<void> = async () => {}) {
  for (const node of everyNode) {
    await before(node);
    await workspace.run(
      `kubectl -n kube-system delete pod -l app.kubernetes.io/name=kube-proxy-wrapper --field-selector spec.nodeName=${node}`,
    );
  }
  await rolledOut(cluster, 'kube-proxy-wrapper');
}

const stateFolder = (node: string) =>
  cluster.node(node).hostPath('/var/lib/kube-proxy-wrapper/state');

const stateOwners = () => everyNode.map((node) => statSync(stateFolder(node)).uid);

/** When a snapshot of slices was last written on the first node, in ms; -Infinity without one. */
const latestSnapshot = () => {
  const folder = stateFolder('edge-1');
  const files = readdirSync(folder).filter((name) => name.startsWith('endpointslices-'));
  return Math.max(...files.map((name) => statSync(join(folder, name)).mtimeMs));
};

const imagesOfPods = async () =>
  (await wrapperPods()).map(({ spec }) => (spec.containers[0].image as string).split(':')[1]);

/** Runs `during` with every node under load. Resolves with the answers that were not this node's. */
async function failuresUnderLoad(during: () => Promise<unknown>) {
  const seen = await web.underLoad(everyNode, during);
  return seen.map((answers, index) =>
    Object.keys(answers).filter((answer) => answer !== everyNode[index]),
  );
}

// kube-proxy was refused meanwhile: in the end client-go waits 30 to 60 s before it tries again.
const followsChanges = async () => await web.followsChanges(90_000);

test('the update stops at the first node, where the old Pod continues to serve', async () => {
  expect(stateOwners()).toEqual([65_532, 65_532]);
  await workspace.runDocumented('kubeadm', 'kubectl -n kube-system get configmap');
  await workspace.run('kubectl apply --server-side -k my-cluster');
  await poll(
    wrapperPods,
    (pods) =>
      pods.some(({ status }) => (status.containerStatuses?.[0].restartCount ?? 0) > 0) &&
      pods.filter(isReady).length >= 2,
    { timeoutMs: 60_000, intervalMs: 200, what: 'a Pod that cannot listen beside two that serve' },
  );
  await followsChanges();
});

test('after its Pods are deleted node by node the new one serves, with the state of the old', async () => {
  expect(await failuresUnderLoad(deletePodsNodeByNode)).toEqual([[], []]);
  expect(await imagesOfPods()).not.toContain('1.0.0');
  expect(stateOwners()).toEqual([10_360, 10_360]);
  await followsChanges();
});

test('the way back is the same, and 1.0.0 goes on with the state after its owner is changed', async () => {
  const back = async () => {
    await workspace.run('kubectl apply --server-side -k 1.0.0/my-cluster');
    // 1.0.0 changes only the owner of the folder above it.
    await deletePodsNodeByNode(async (node) => {
      await workspace.run(`chown -R 65532:65532 ${stateFolder(node)}`);
    });
  };
  expect(await failuresUnderLoad(back)).toEqual([[], []]);
  expect(await imagesOfPods()).toEqual(['1.0.0', '1.0.0']);
  // From here on only 1.0.0 runs.
  const isBack = Date.now();
  await followsChanges();
  expect(stateOwners()).toEqual([65_532, 65_532]);
  await poll(latestSnapshot, (time) => time > isBack, {
    timeoutMs: 60_000,
    what: 'a snapshot that 1.0.0 has written after the way back',
  });
});
