import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { eventually } from '../../e2e/support/eventually.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { wrapperImage } from '../support/images.ts';
import { installKubeProxy, rolledOut } from '../support/kube-proxy.ts';
import { createWeb, isReady, type Web } from '../support/web.ts';
import { createWorkspace, type Workspace } from '../support/workspace.ts';

jest.setTimeout(180_000);

/**
 * An update from 1.0.0, whose user was 65532. Its image is that of today with that user and tag: what differs for the
 * update is who may share the ports and to whom the state belongs.
 */
let cluster: Cluster;
let web: Web;
let workspace: Workspace;
const everyNode = ['edge-1', 'edge-2'];

beforeAll(async () => {
  cluster = await startCluster({ nodeNames: everyNode });
  workspace = createWorkspace(cluster);
  const names = ['registry.example.net/kube-proxy-wrapper:1.0.0'];
  const image = await wrapperImage(join(cluster.folder, 'images'), 'old', names, async (root) => {
    const program = join(root, 'usr/local/bin/own-state-dir');
    const text = readFileSync(program, 'utf8').replace('10_360', '65_532');
    chmodSync(program, 0o755);
    writeFileSync(program, text);
    return { user: '65532:65532' };
  });
  for (const node of cluster.nodes) await node.importImage(image);
  await installKubeProxy(cluster, { mode: 'nftables', server: 'http://127.0.0.1:10360' });
  await workspace.runDocumented('kubeadm', 'kubectl -n kube-system get configmap', {
    'newTag: 1.1.0-dev': `newTag: 1.0.0
patches:
  - target: { kind: DaemonSet }
    patch: |
      - { op: replace, path: /spec/template/spec/securityContext/runAsUser, value: 65532 }
      - { op: replace, path: /spec/template/spec/securityContext/runAsGroup, value: 65532 }`,
  });
  await workspace.runDocumented('kubeadm', 'kubectl apply --server-side');
  await rolledOut(cluster, 'kube-proxy');
  web = await createWeb(cluster, ['kubernetes.io/hostname', '*']);
  for (const node of everyNode) await web.reaches(node, [node]);
}, 180_000);

afterAll(async () => await cluster?.stop());

async function wrapperPods() {
  const path = '/api/v1/namespaces/kube-system/pods';
  const label = 'app.kubernetes.io%2Fname%3Dkube-proxy-wrapper';
  return await cluster.admin.list(`${path}?labelSelector=${label}`);
}

const stateOwner = (node: string) =>
  statSync(cluster.node(node).hostPath('/var/lib/kube-proxy-wrapper')).uid;

test('the update stops at the first node, where the old Pod continues to serve', async () => {
  expect(everyNode.map(stateOwner)).toEqual([65_532, 65_532]);
  await workspace.runDocumented('kubeadm', 'kubectl -n kube-system get configmap');
  await workspace.run('kubectl apply --server-side -k my-cluster');
  await eventually(
    wrapperPods,
    (pods) =>
      pods.some(({ status }) => (status.containerStatuses?.[0].restartCount ?? 0) > 0) &&
      pods.filter(isReady).length >= 2,
    { timeoutMs: 60_000, intervalMs: 200, what: 'a Pod that cannot listen beside two that serve' },
  );
  await web.setReady('edge-1', false);
  await web.reaches('edge-1', ['edge-2']);
  await web.setReady('edge-1', true);
  await web.reaches('edge-1', ['edge-1']);
});

test('after its Pods are deleted node by node the new one serves, with the state of the old', async () => {
  for (const node of everyNode) {
    await workspace.run(
      `kubectl -n kube-system delete pod -l app.kubernetes.io/name=kube-proxy-wrapper --field-selector spec.nodeName=${node}`,
    );
  }
  await rolledOut(cluster, 'kube-proxy-wrapper');
  const images = (await wrapperPods()).map(({ spec }) => spec.containers[0].image as string);
  expect(images.every((image) => !image.endsWith(':1.0.0'))).toBe(true);
  expect(everyNode.map(stateOwner)).toEqual([10_360, 10_360]);
  await web.setReady('edge-1', false);
  // kube-proxy was refused meanwhile: in the end client-go waits 30 to 60 s before it tries again.
  await web.reaches('edge-1', ['edge-2'], 90_000);
});
