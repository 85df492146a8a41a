import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, jest, test } from '@jest/globals';
import { type Cluster, startCluster } from '../../../../harness/cluster/cluster.ts';
import { VERSION, wrapperImage } from '../../../../harness/cluster/images.ts';
import { countKernelRewrites } from '../../../../harness/cluster/kernel-rewrites.ts';
import { installKubeProxy, rolledOut } from '../../../../harness/cluster/kube-proxy.ts';
import type { ClusterNode } from '../../../../harness/cluster/node.ts';
import { createWeb, type Web } from '../../../../harness/cluster/web.ts';
import { createWorkspace, type Workspace } from '../../../../harness/cluster/workspace.ts';
import { poll } from '../../../../harness/poll.ts';
import { stoppedLater } from '../../../support/closed-later.ts';

jest.setTimeout(600_000);

/** The section "kubeadm" of docs/deployment.md, by its own commands and in its order. Each test continues the last. */
let cluster: Cluster;
let web: Web;
let workspace: Workspace;
/** The files of each node before the wrapper was there. */
let filesBefore: string[][];

beforeAll(async () => {
  cluster = stoppedLater(await startCluster({ nodeNames: ['edge-1', 'edge-2'] }));
  workspace = createWorkspace(cluster);
  await installKubeProxy(cluster, { mode: 'nftables' });
  web = await createWeb(cluster, ['kubernetes.io/hostname', '*']);
  filesBefore = cluster.nodes.map(filesOf);
});

const documented = async (beginning: string, instead?: Readonly<Record<string, string>>) =>
  await workspace.runDocumented('kubeadm', beginning, instead);

const everyNode = ['edge-1', 'edge-2'];
/**
 * Connections that the kernel may refuse while kube-proxy writes the rules of a Service again, as when it restarts. A
 * packet that meets the old rule and its new, empty map is rejected. Seen four times in 1,600 requests where a stock
 * kube-proxy restarts.
 */
const REJECTED_BY_KERNEL = 5;
const failuresOf = (answers: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    Object.entries(answers).filter(
      ([answer, count]) =>
        !everyNode.includes(answer) && !(answer === '(refused)' && count <= REJECTED_BY_KERNEL),
    ),
  );

const WRAPPER_LABEL = ['-l', 'app.kubernetes.io/name=kube-proxy-wrapper'];

test('the wrapper is installed everywhere and changes nothing yet', async () => {
  await web.spreads();
  await documented('kubectl -n kube-system get configmap');
  await documented('kubectl apply --server-side --force-conflicts -k my-cluster');
  await documented('kubectl apply --server-side -f manifests/removal-guard.yaml');
  await web.spreads();
});

test('a kube-proxy is pointed at the wrapper on half of the nodes, and no request is lost', async () => {
  const seen = await web.underLoad(everyNode, async () => {
    await documented(
      'kubectl -n kube-system patch daemonset kube-proxy --patch-file manifests/overlays/kubeadm/point-kube-proxy.yaml',
    );
    await documented('kubectl -n kube-system delete pod -l k8s-app=kube-proxy');
    await web.reaches('edge-1', ['edge-1']);
  });
  expect(seen.map(failuresOf)).toEqual([{}, {}]);
  await web.reaches('edge-2', everyNode);
});

test('then the DaemonSet rolls the other half', async () => {
  await documented('kubectl -n kube-system patch daemonset kube-proxy -p');
  await web.stays();
});

test('a Pod of the wrapper explains a Service of its node', async () => {
  const shop = { 'shop/web': 'default/web' };
  expect(await workspace.runDocumented('In a Pod', 'pod=$(', shop)).toMatch(
    /^default\/web on node edge-1: FILTERED, 1 of 2 endpoints/,
  );
});

test('an update of the wrapper loses no request and refuses no connection', async () => {
  const next = `${VERSION}-next`;
  const image = await wrapperImage(join(cluster.folder, 'images'), 'next', [
    `registry.example.net/kube-proxy-wrapper:${next}`,
  ]);
  for (const node of cluster.nodes) await node.importImage(image);
  // What kube-proxy would meet, more often than it connects.
  const clients = cluster.nodes.map((node) =>
    node.spawn({
      name: 'load-on-wrapper',
      command: cluster.binaries.podProgram,
      args: ['load', 'http://127.0.0.1:10360/api/v1/services?resourceVersion=0', '50'],
    }),
  );
  const rewrites = cluster.nodes.map((node) => countKernelRewrites(node, 'default/web'));
  const seen = await web.underLoad(everyNode, async () => {
    await workspace.run(`sed -i 's/newTag: .*/newTag: ${next}/' my-cluster/kustomization.yaml`);
    await documented('kubectl apply --server-side --force-conflicts -k my-cluster');
  });
  for (const client of clients) {
    await client.stop();
    const { answers } = JSON.parse(client.process.log()) as { answers: Record<string, number> };
    const failures = Object.entries(answers).filter(([answer]) => answer.startsWith('('));
    expect(Object.fromEntries(failures)).toEqual({});
    expect(Object.keys(answers).join()).toContain('ServiceList');
  }
  expect(seen.map(failuresOf)).toEqual([{}, {}]);
  const answered = seen.map((answers) =>
    Object.keys(answers).filter((answer) => answer !== '(refused)'),
  );
  expect(answered).toEqual([['edge-1'], ['edge-2']]);
  // kube-proxy has listed again, but the Service has not changed.
  expect(rewrites.map((each) => each.count())).toEqual([0, 0]);
  // Such a change is counted.
  await web.setReady('edge-1', false);
  await web.reaches('edge-1', ['edge-2']);
  await poll(
    () => rewrites.map((each) => each.count()),
    ([first = 0]) => first > 0,
    { what: 'rules that the kernel reports' },
  );
  await web.setReady('edge-1', true);
  await web.reaches('edge-1', ['edge-1']);
  for (const each of rewrites) await each.stop();
});

test('a changed setting rolls the wrapper, and an undo brings the old one back', async () => {
  workspace.write('my-cluster/config.yaml', 'logLevel: info\ndryRun: true\n');
  const generator = '  - { name: kube-proxy-wrapper, behavior: replace, files: [config.yaml] }';
  await workspace.run(`sed -i '/^images:/i\\${generator}' my-cluster/kustomization.yaml`);
  await documented('kubectl apply --server-side --force-conflicts -k my-cluster');
  await web.spreads();
  await workspace.run('kubectl -n kube-system rollout undo daemonset/kube-proxy-wrapper');
  await workspace.runDocumented('A roll-out stops', 'kubectl -n kube-system label pod');
  await rolledOut(cluster, 'kube-proxy-wrapper');
  await web.stays();
});

// The undo owns fields of the DaemonSet then, and the apply was refused with a conflict.
test('after an undo the corrected settings are applied as at first', async () => {
  workspace.write('my-cluster/config.yaml', 'logLevel: info\n');
  await documented('kubectl apply --server-side --force-conflicts -k my-cluster');
  await rolledOut(cluster, 'kube-proxy-wrapper');
  await web.stays();
});

/** What is in the folders that a node has for itself, and in that of the state. */
function filesOf(node: ClusterNode): string[] {
  const state = '/var/lib/kube-proxy-wrapper';
  return ['/run', '/var/lib', '/var/log', state].flatMap((folder) => {
    const files = node.hostPath(`${folder}/`);
    const names = existsSync(files) ? readdirSync(files) : [];
    return names.map((name) => `${folder}/${name}`);
  });
}

test('a removal is refused, and deletes nothing, while a kube-proxy is pointed at the wrapper', async () => {
  const settings = async () =>
    await cluster.kubectl([
      'get',
      'configmap',
      '-n',
      'kube-system',
      ...WRAPPER_LABEL,
      '-o',
      'name',
    ]);
  const before = await settings();
  await expect(documented('kubectl -n kube-system get pods -o yaml')).rejects.toThrow(
    'ended with 1',
  );
  expect(await settings()).toBe(before);
  // The guard refuses a bare one too.
  await expect(workspace.run('kubectl delete --dry-run=server -k my-cluster')).rejects.toThrow(
    '2 Pods of DaemonSet kube-proxy may use the wrapper',
  );
});

test('the way back to a plain kube-proxy loses no request, and leaves only the state', async () => {
  const seen = await web.underLoad(everyNode, async () => {
    await documented(
      'kubectl -n kube-system patch daemonset kube-proxy --patch-file manifests/overlays/kubeadm/point-kube-proxy-back',
    );
    await web.reaches('edge-1', everyNode);
    await web.reaches('edge-2', ['edge-2']);
    await documented('kubectl -n kube-system patch daemonset kube-proxy -p');
    await web.reaches('edge-2', everyNode);
    await documented('kubectl -n kube-system get pods -o yaml');
  });
  expect(seen.map(failuresOf)).toEqual([{}, {}]);
  // Nothing replaces its Pods, so they wait for --handover-seconds.
  await poll(
    async () => await cluster.kubectl(['get', 'all,cm,sa', '-A', ...WRAPPER_LABEL, '-o', 'name']),
    (left) => left === '',
    { timeoutMs: 180_000, intervalMs: 500, what: 'the end of all objects of the wrapper' },
  );
  const kinds = ['get', 'clusterroles,clusterrolebindings,roles,rolebindings', '-A'];
  const rights = await cluster.kubectl([...kinds, '-o', 'name']);
  expect(rights).not.toMatch(/[/]kube-proxy-wrapper/);
  for (const [index, node] of cluster.nodes.entries()) {
    const left = filesOf(node).filter((file) => !filesBefore[index]?.includes(file));
    expect(left).toEqual(['/var/lib/kube-proxy-wrapper', '/var/lib/kube-proxy-wrapper/state']);
  }
});
