import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { KubeObject } from '../../../harness/api-server/api.ts';
import { type Cluster, startCluster } from '../../../harness/cluster/cluster.ts';
import { installKubeProxy, rolledOut } from '../../../harness/cluster/kube-proxy.ts';
import { writeOverlay } from '../../../harness/cluster/overlay.ts';
import {
  environmentOf,
  type SILENCES,
  startSilentServers,
} from '../../../harness/cluster/silent-server.ts';
import { createWeb, HUNG_MS, isReady, ranMs, type Web } from '../../../harness/cluster/web.ts';
import { createWorkspace, type Workspace } from '../../../harness/cluster/workspace.ts';
import { readText, repository } from '../../../harness/deploy/repository.ts';
import { poll } from '../../../harness/poll.ts';
import { stoppedLater } from '../../support/closed-later.ts';

jest.setTimeout(600_000);

/** The base with its state folder, a stock kube-proxy behind it, and Pods that serve each other. */
let cluster: Cluster;
let workspace: Workspace;
let web: Web;

beforeAll(async () => {
  cluster = stoppedLater(await startCluster());
  workspace = createWorkspace(cluster, { 'kubectl-kpw': join(repository, 'dist/kubectl-kpw.js') });
});

test('the base with its state folder becomes ready on every node, before there is a kube-proxy', async () => {
  writeOverlay(workspace, ['state']);
  await workspace.run('kubectl apply --server-side -k my-cluster');
  await rolledOut(cluster, 'kube-proxy-wrapper');
  const { status } = await cluster.admin.get(
    '/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy-wrapper',
  );
  expect(status.numberReady).toBe(cluster.nodes.length);
});

test('each wrapper runs as its own user without a capability, on a root that it cannot write to', async () => {
  for (const node of cluster.nodes) {
    const all = await node.containers();
    const pid = all.find(({ name }) => name === 'kube-proxy-wrapper')?.pid;
    const status = await node.exec('cat', [`/proc/${pid}/status`]);
    expect(status).toMatch(/^Uid:\t10360\t10360\t10360\t10360$/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^CapBnd:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(await node.exec('cat', [`/proc/${pid}/mounts`])).toMatch(/^\S+ \/ \S+ ro[, ]/m);
  }
});

test('each wrapper, which is not root, saves its state in the folder that the kubelet made', async () => {
  for (const node of cluster.nodes) {
    const state = node.hostPath('/var/lib/kube-proxy-wrapper/state');
    await poll(
      () => (existsSync(state) ? readdirSync(state) : []),
      (files) => files.some((file) => file.endsWith('.snapshot')),
      { timeoutMs: 180_000, intervalMs: 200, what: `a snapshot on ${node.name}` },
    );
  }
});

test('traffic of Pods stays on the node, then in the site, then goes anywhere, as readiness changes', async () => {
  await installKubeProxy(cluster, { mode: 'nftables', server: 'http://127.0.0.1:10360' });
  await rolledOut(cluster, 'kube-proxy');
  const everyNode = cluster.nodes.map(({ name }) => name);
  web = await createWeb(cluster);
  await web.spreads();
  // The keys are hostname, site and "*".
  await workspace.runDocumented('Install it', 'kubectl label node edge-1 edge-2 site=a');
  await web.stays();

  const change = async (node: string, ready: boolean, reached: string) => {
    await web.setReady(node, ready);
    await web.reaches('edge-1', [reached]);
  };
  await change('edge-1', false, 'edge-2');
  await change('edge-2', false, 'edge-3');
  await change('edge-2', true, 'edge-2');
  await change('edge-1', true, 'edge-1');

  const other = { 'namespace shop': 'namespace default' };
  await workspace.runDocumented('Dry run', 'kubectl annotate service web', other);
  await web.reaches('edge-1', everyNode);
  await workspace.run('kubectl annotate service web kube-proxy-wrapper.io/filter-');
  await web.reaches('edge-1', ['edge-1']);
});

/** In its canary policies only say what they would do, so its node sees all endpoints. */
test('a canary has its own settings on the nodes with its label, and the others keep theirs', async () => {
  writeOverlay(workspace, ['state', '../canary/keep-off']);
  const [, kustomization = ''] =
    /```yaml\n(# my-cluster-canary[\s\S]*?)```/.exec(readText('docs/deployment.md')) ?? [];
  workspace.write('my-cluster-canary/kustomization.yaml', kustomization);
  workspace.write('my-cluster-canary/config.yaml', 'logLevel: info\ndryRun: true\n');
  await workspace.run(
    'for each in my-cluster my-cluster-canary; do kubectl apply --server-side -k $each; done',
  );
  await rolledOut(cluster, 'kube-proxy-wrapper');
  const everyNode = cluster.nodes.map(({ name }) => name);
  const load = cluster.node('edge-3').spawn({
    name: 'load-on-wrapper',
    command: cluster.binaries.podProgram,
    args: ['load', 'http://127.0.0.1:10360/api/v1/services?resourceVersion=0', '50'],
  });
  await workspace.run('kubectl label node edge-3 kube-proxy-wrapper.io/canary=');
  await web.reaches('edge-3', everyNode);
  await rolledOut(cluster, 'kube-proxy-wrapper-canary');
  for (const node of ['edge-1', 'edge-2']) await web.reaches(node, [node]);

  const status = await workspace.run('kubectl kpw status || echo "exit $?"');
  expect(status).not.toMatch(/FAIL|exit/);
  expect(status).toMatch(/^version .*, settings \w+: edge-1, edge-2$/m);
  expect(status).toMatch(/^version .*, settings \w+: edge-3$/m);

  await workspace.run('kubectl label node edge-3 kube-proxy-wrapper.io/canary-');
  await web.reaches('edge-3', ['edge-3']);
  await load.stop();
  const { answers } = JSON.parse(load.process.log()) as { answers: Record<string, number> };
  expect(Object.keys(answers).filter((answer) => answer.startsWith('('))).toEqual([]);
  await rolledOut(cluster, 'kube-proxy-wrapper');
  await workspace.run('kubectl -n kube-system delete daemonset kube-proxy-wrapper-canary');
});

describe('kubectl kpw, through the port-forward of a real kubelet', () => {
  test('explains a Service as each node sees it', async () => {
    for (const { name } of cluster.nodes) {
      const text = await workspace.run(`kubectl kpw explain web --node ${name}`);
      expect(text).toMatch(new RegExp(`^default/web on node ${name}: FILTERED, 1 of 3 endpoints`));
    }
  });

  const status = async () => await workspace.run('kubectl kpw status || echo "exit $?"');
  const says = async (what: RegExp) =>
    await poll(status, (text) => what.test(text), {
      timeoutMs: 180_000,
      intervalMs: 200,
      what: `a status with ${what}`,
    });

  // kube-proxy's own health and metrics say that all is well.
  test('says that the kernel has no rules, until kube-proxy has started again', async () => {
    await cluster.node('edge-2').exec('nft', ['delete', 'table', 'ip', 'kube-proxy']);
    await says(/^\[FAIL\] rules +the kernel has no rules: .*\(1 of 3 nodes: edge-2;/m);
    await workspace.run(
      'kubectl -n kube-system delete pod -l k8s-app=kube-proxy --field-selector spec.nodeName=edge-2',
    );
    await says(/^3 of 3 nodes are well$/m);
  });

  test('says that a roll-out is stuck, in the last words of the Pod, at each moment of the crashes', async () => {
    const volumes = '[{"name":"config","configMap":{"name":"wrong"}}]';
    await workspace.run(`kubectl -n kube-system create configmap wrong --from-literal=config.yaml='key: a'
kubectl -n kube-system patch daemonset kube-proxy-wrapper -p '{"spec":{"template":{"spec":{"volumes":${volumes}}}}}'`);
    // It runs again for a moment at each start.
    const stuck =
      /^\[FAIL\] wrapper +a Pod (does not run: CrashLoopBackOff: )?ended with code 1: .*unknown key key.*\(1 of 3 nodes/m;
    await says(stuck);
    // The next start comes 10 s after the first.
    const end = performance.now() + 15_000;
    while (performance.now() < end) expect(await status()).toMatch(stuck);
    await workspace.run('kubectl -n kube-system rollout undo daemonset/kube-proxy-wrapper');
    await says(/^3 of 3 nodes are well$/m);
  });

  const WRAPPER = 'app.kubernetes.io%2Fname%3Dkube-proxy-wrapper';
  type Silence = keyof typeof SILENCES;

  beforeAll(() => startSilentServers(cluster));

  const rollOut = async (silence: Silence, rollingUpdate: object) => {
    const env = Object.entries(environmentOf(silence)).map(([name, value]) => ({
      name,
      value,
      valueFrom: null,
    }));
    const template = { spec: { containers: [{ name: 'kube-proxy-wrapper', env }] } };
    const patch = JSON.stringify({ spec: { updateStrategy: { rollingUpdate }, template } });
    await workspace.run(`kubectl -n kube-system patch daemonset kube-proxy-wrapper -p '${patch}'`);
  };

  /** Waits until the new Pod has run for so long without a crash, and expects these Pods, without those that end. */
  const untilHung = async (silence: Silence, expected: readonly string[]) => {
    const { KUBERNETES_SERVICE_PORT: port } = environmentOf(silence);
    const isNew = ({ spec }: KubeObject) => JSON.stringify(spec).includes(`"${port}"`);
    const pods = async () => {
      const found = await cluster.admin.list(
        `/api/v1/namespaces/kube-system/pods?labelSelector=${WRAPPER}`,
      );
      const all = found.filter(({ metadata }) => !('deletionTimestamp' in metadata));
      const words = (pod: KubeObject) =>
        `${isNew(pod) ? 'new' : 'old'}${isReady(pod) ? ', ready' : ''}`;
      const next = all.find(isNew);
      return {
        each: all.map(words).sort(),
        crashes: next?.status?.containerStatuses?.[0]?.restartCount ?? 0,
        ranFor: ranMs(next),
      };
    };
    const { value } = await poll(pods, ({ ranFor }) => ranFor > HUNG_MS, {
      timeoutMs: 180_000,
      intervalMs: 500,
      what: 'the new Pod runs',
    });
    expect(value).toMatchObject({ each: expected, crashes: 0 });
  };

  const goesBack = async () => {
    await workspace.run('kubectl -n kube-system rollout undo daemonset/kube-proxy-wrapper');
    await rolledOut(cluster, 'kube-proxy-wrapper');
    await says(/^3 of 3 nodes are well$/m);
  };

  // The Pod before answers the HTTP probes of the next one, which once counted as ready.
  describe('a roll-out to an API server that accepts all requests, and answers', () => {
    test.each(['nothing', 'no list of Services'] as const)(
      '%s stops with maxSurge at its first node, whose Pod before it serves, and goes back',
      async (silence) => {
        await rollOut(silence, { maxSurge: 1, maxUnavailable: 0 });
        await untilHung(silence, ['new', 'old, ready', 'old, ready', 'old, ready']);
        await web.followsChanges();
        await goesBack();
      },
    );

    test.each(['nothing', 'no list of Services'] as const)(
      '%s stops with maxUnavailable at its first node, which keeps its rules, and goes back',
      async (silence) => {
        await rollOut(silence, { maxSurge: 0, maxUnavailable: 1 });
        await untilHung(silence, ['new', 'old, ready', 'old, ready']);
        await web.stays();
        await goesBack();
      },
    );
  });

  test('says that a node without a wrapper has none', async () => {
    const failed = await workspace.run(
      'kubectl kpw explain web --node edge-9 2>&1 || echo "exit $?"',
    );
    expect(failed).toMatch(/edge-9/);
    expect(failed).toContain('exit 1');
  });
});
