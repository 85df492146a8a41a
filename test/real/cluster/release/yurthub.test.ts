import { beforeAll, expect, jest, test } from '@jest/globals';
import { type Cluster, startCluster } from '../../../../harness/cluster/cluster.ts';
import { installKubeProxy, rolledOut } from '../../../../harness/cluster/kube-proxy.ts';
import type { ClusterNode } from '../../../../harness/cluster/node.ts';
import { createNodeProbe } from '../../../../harness/cluster/node-probe.ts';
import { createOtherServices, EVERYWHERE } from '../../../../harness/cluster/other-services.ts';
import { writeOverlay } from '../../../../harness/cluster/overlay.ts';
import { podAddress } from '../../../../harness/cluster/pod-address.ts';
import { untilSaved } from '../../../../harness/cluster/saved-state.ts';
import { createWeb, type Web } from '../../../../harness/cluster/web.ts';
import { createWorkspace } from '../../../../harness/cluster/workspace.ts';
import { prepareYurtHub, type YurtHub } from '../../../../harness/cluster/yurthub.ts';
import { poll } from '../../../../harness/poll.ts';
import { stoppedLater } from '../../../support/closed-later.ts';

jest.setTimeout(600_000);

/**
 * A node loses its power while it is cut off, and boots without the API server. Its kubelet reads through a real
 * YurtHub, which has a copy of what it read before: so the Pods of the DaemonSets come back. Each test continues the
 * last.
 */
let cluster: Cluster;
let node: ClusterNode;
let probe: ReturnType<typeof createNodeProbe>;
let hub: YurtHub;
let web: Web;
let pod: string;

beforeAll(async () => {
  cluster = stoppedLater(await startCluster({ nodeNames: ['edge-1', 'edge-2'] }));
  node = cluster.node('edge-1');
  probe = createNodeProbe(cluster, 'edge-1');
  hub = await prepareYurtHub(cluster, node);
  await node.powerOff();
  await node.powerOn();
  await boot();
  const workspace = createWorkspace(cluster);
  writeOverlay(workspace, ['state', 'local-runtime']);
  await workspace.run('kubectl apply --server-side -k my-cluster');
  await rolledOut(cluster, 'kube-proxy-wrapper');
  await installKubeProxy(cluster, { mode: 'nftables', server: 'http://127.0.0.1:10360' });
  await rolledOut(cluster, 'kube-proxy');
  web = await createWeb(cluster, ['kubernetes.io/hostname', '*']);
  pod = await web.podOn('edge-1');
  await createOtherServices(cluster, 'edge-1', pod);
  await probe.reaches(web.url, ['edge-1']);
  await probe.reaches(EVERYWHERE, ['edge-1', 'edge-2']);
  await untilSaved(cluster, node);
}, 600_000);

/** Starts YurtHub, then the kubelet behind it. */
async function boot(): Promise<void> {
  await hub.start();
  await node.startKubelet({
    kubeconfig: hub.kubeconfig,
    // YurtHub 1.7.0 answers no streaming list while it is cut off, and the client waits for its end for ever.
    flags: ['--feature-gates=WatchListClient=false'],
  });
}

/** For docs/operations-cut-off.md. */
function note(what: string, since: number): void {
  process.stderr.write(`${what}: ${Math.round(performance.now() - since)} ms\n`);
}

test('DaemonSets reach their Service at the new address, though the node has booted without the API server', async () => {
  const before = await podAddress(node, pod);
  await node.rebootCutOff();
  const start = performance.now();
  await boot();
  note('YurtHub started until the kubelet runs', start);
  await probe.runs(['kube-proxy', 'kube-proxy-wrapper', 'web']);
  note('YurtHub started until all Pods run', start);
  await probe.reaches(web.url, ['edge-1']);
  note('YurtHub started until the Service is reached', start);
  await web.reaches('edge-1', ['edge-1']);
  expect(await podAddress(node, pod)).not.toBe(before);
});

test('a Service without a policy reaches the Pods of both nodes', async () => {
  await probe.reaches(EVERYWHERE, ['edge-1', 'edge-2']);
});

// While it was cut off, YurtHub gave the wrapper's Pod a token that is not valid.
test('once the link has returned, Services keep working until a valid token is there, and changes are followed', async () => {
  const start = performance.now();
  await node.reconnect();
  await web.setReady('edge-2', false);
  const seen = new Set<string>();
  await poll(
    async () => {
      const answers = await probe.dial(EVERYWHERE);
      for (const answer of answers) seen.add(answer);
      return answers;
    },
    (answers) => answers.join() === 'edge-1',
    { timeoutMs: 200_000, intervalMs: 500, what: 'the change is followed' },
  );
  note('link returned until a change is followed', start);
  expect([...seen].filter((answer) => answer.startsWith('('))).toEqual([]);
});
