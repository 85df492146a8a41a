import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { createTimings } from '../../e2e/support/timings.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { installKubeProxy, rolledOut } from '../support/kube-proxy.ts';
import { createWeb, type Web } from '../support/web.ts';
import { createWorkspace } from '../support/workspace.ts';

jest.setTimeout(180_000);

/** The overlay for kubeadm, with a kube-proxy in iptables mode that is pointed at the wrapper. */
let cluster: Cluster;
let web: Web;
const everyNode = ['edge-1', 'edge-2'];
const timings = createTimings();

beforeAll(async () => {
  cluster = await startCluster({ nodeNames: everyNode });
  const workspace = createWorkspace(cluster);
  await installKubeProxy(cluster, { mode: 'iptables', server: 'http://127.0.0.1:10360' });
  await workspace.runDocumented('kubeadm', 'kubectl -n kube-system get configmap');
  await workspace.runDocumented('kubeadm', 'kubectl apply --server-side');
  await rolledOut(cluster, 'kube-proxy');
  web = await createWeb(cluster, ['kubernetes.io/hostname', '*']);
}, 180_000);

afterAll(async () => {
  timings.print('from a change until connections of Pods follow it (ms)');
  await cluster?.stop();
});

test('the Service has rules of iptables, and each node reaches its own Pod', async () => {
  for (const node of everyNode) await web.reaches(node, [node]);
  const rules = await cluster.node('edge-1').exec('iptables', ['-w', '-t', 'nat', '-S']);
  expect(rules).toMatch(/-A KUBE-SERVICES -d 10[.]96[.]0[.]80\/32 .*--dport 80 /);
});

test('traffic of Pods leaves the node while its Pod is not ready', async () => {
  const change = async (what: string, ready: boolean, reached: string) => {
    await web.setReady('edge-1', ready);
    timings.add(what, 'iptables', await web.reaches('edge-1', [reached]));
  };
  await change('the Pod of the node is not ready', false, 'edge-2');
  await change('the Pod of the node is ready again', true, 'edge-1');
});

test('a kube-proxy that starts again loses no request', async () => {
  const end = await web.load('edge-1', 20);
  const only = ['-l', 'k8s-app=kube-proxy', '--field-selector', 'spec.nodeName=edge-1'];
  await cluster.kubectl(['-n', 'kube-system', 'delete', 'pod', ...only]);
  await rolledOut(cluster, 'kube-proxy');
  // Only the next kube-proxy can follow this.
  await web.setReady('edge-1', false);
  await web.reaches('edge-1', ['edge-2']);
  expect(Object.keys((await end()).answers).sort()).toEqual(everyNode);
});
