import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { KUBECTL_KPW } from '../../../cli/definitions/remote.ts';
import { formatStatusLines } from '../../../cli/output/status-text.ts';
import { clusterReport, type NodeReport } from '../../../cli/remote/cluster-report.ts';
import type { StatusLine } from '../../../src/admin/status/status-line.ts';
import { closedLater } from '../../support/closed-later.ts';
import { runInProcess } from '../../support/commands/run-in-process.ts';
import { eventually } from '../../support/eventually.ts';
import { startServer } from '../../support/http/http-server.ts';
import { spawnMortal } from '../../support/process/mortal-child.ts';
import {
  type FakePod,
  type RemoteCluster,
  useRemoteCluster,
} from '../../support/remote/remote-cluster.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useCluster } from '../../support/wrapper/use.ts';

const PROGRAM = resolve(import.meta.dirname, '../../../cli/kubectl-kpw.ts');

let cluster: RemoteCluster;

beforeEach(async () => {
  // remote-cluster.ts sends the requests on over plain http.
  const server = useCluster({ tls: undefined });
  putService(server, 'web', ['kubernetes.io/hostname', 'site', '*']);
  putSlice(server, 'web-1', 'web', [
    { ip: '10.0.0.1', node: 'edge-1' },
    { ip: '10.0.0.3', node: 'edge-3' },
  ]);
  cluster = await useRemoteCluster(server);
});

const kpw = (...args: string[]) =>
  runInProcess(KUBECTL_KPW, [...args, '--kubeconfig', cluster.kubeconfig]);

describe('kubectl kpw --node', () => {
  test('reaches the wrapper on that node through port-forward, and leaves no connection', async () => {
    await cluster.startWrapper('edge-1');
    await cluster.startWrapper('edge-3');
    const { code, out } = await kpw('explain', 'web', '--node', 'edge-3');
    expect({ code, out }).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^default\/web on node edge-3: FILTERED, 1 of 2/),
    });
    expect(cluster.forwards).toEqual(['wrapper-edge-3 10361']);
    await eventually(() => cluster.openForwards, 0);
  });

  test('a long answer arrives whole', async () => {
    const endpoints = Array.from({ length: 900 }, (_, n) => ({
      ip: `10.1.${n >> 8}.${n & 255}`,
      node: 'edge-1',
    }));
    putSlice(cluster.server, 'web-1', 'web', endpoints);
    await cluster.startWrapper('edge-1');
    const { out } = await kpw('explain', 'web', '--node', 'edge-1', '-o', 'json');
    expect((JSON.parse(out) as { endpoints: unknown[] }).endpoints).toHaveLength(900);
  });

  test('during an update the Pod that is ready counts, and one that ends does not', async () => {
    await cluster.startWrapper('edge-1');
    const later = { node: 'edge-1', created: '2026-02-01T00:00:00Z' };
    cluster.pods.push(
      { ...later, name: 'next', ready: false },
      { ...later, name: 'gone', deleted: true },
      { ...later, name: 'done', status: { phase: 'Succeeded' } },
    );
    expect((await kpw('explain', '--node', 'edge-1')).code).toBe(0);
    expect(cluster.forwards).toEqual(['wrapper-edge-1 10361']);
  });
});

describe('which Pods are wrappers', () => {
  // A tenant's newer Pod with the label once answered for the node.
  test('a Pod with the label in another namespace is not asked', async () => {
    await cluster.startWrapper('edge-1');
    const tenant = { name: 'tenant', node: 'edge-1', namespace: 'shop' };
    cluster.pods.push({ ...tenant, created: '2026-03-01T00:00:00Z' });
    expect((await kpw('status', '--node', 'edge-1')).code).toBeLessThan(4);
    expect(new Set(cluster.forwards)).toEqual(new Set(['wrapper-edge-1 10361']));
  });

  test('two installations in the namespace are an error that names both', async () => {
    cluster.pods.push({ name: 'a', node: 'edge-1', daemonSet: 'kpw-old' });
    cluster.pods.push({ name: 'b', node: 'edge-2', daemonSet: 'kpw-new' });
    const { code, err } = await kpw('explain', '--all-nodes');
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(
        /two installations of the wrapper: DaemonSets kpw-new and kpw-old; choose one with --pod-selector/,
      ),
    });
    expect(cluster.forwards).toEqual([]);
  });

  // manifests/canary gives its Pods this label.
  test('an installation and its canary are one', async () => {
    await cluster.startWrapper('edge-1', {}, { daemonSet: 'kpw' });
    cluster.pods.push({ name: 'b', node: 'edge-2', labels: CANARY, daemonSet: 'kpw-canary' });
    expect((await kpw('explain', '--node', 'edge-1')).code).toBe(0);
  });
});

test('simulate reads the cluster, and one Service of it', async () => {
  const { code, out } = await kpw('simulate', 'svc/web');
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('default/web') });
  expect(out).not.toContain('default/api');
});

test.each<[missing: string, command: string, arrange: () => void, message: RegExp]>([
  [
    'a Pod on the node',
    'status',
    () => cluster.pods.pop(),
    /no Pod of the wrapper runs on node edge-1 \(label app\.kubernetes\.io\/name=kube-proxy-wrapper, namespace kube-system\); see kubectl get pods -A .* use --pod-namespace/,
  ],
  [
    'a Pod in the namespace, because it is installed in another one',
    'status',
    () => {
      cluster.pods[0] = { ...(cluster.pods[0] as FakePod), namespace: 'edge-system' };
    },
    /no Pod of the wrapper runs on node edge-1 \(.*namespace kube-system\); there are such Pods in namespace edge-system: use --pod-namespace edge-system$/m,
  ],
  [
    'the right to list Pods',
    'status',
    () => cluster.refusals.set('/api/v1/namespaces/kube-system/pods', 403),
    /you need the right to list pods in namespace kube-system: User "u" cannot do this/,
  ],
  [
    'a valid token',
    'status',
    () => cluster.refusals.set('/api/v1/namespaces/kube-system/pods', 401),
    /the API server 127\.0\.0\.1:\d+ does not accept the credentials of the kubeconfig: refused on purpose: 401/,
  ],
  [
    'an API server',
    'status',
    () => cluster.refusals.set('/api/v1/namespaces/kube-system/pods', 200),
    /: 127\.0\.0\.1:\d+ does not answer as an API server \(HTTP 200\); check the server of the kubeconfig/,
  ],
  [
    'the right to forward ports',
    'explain',
    () => cluster.refusals.set('/api/v1/namespaces/kube-system/pods/wrapper-edge-1/port', 403),
    /you need the right to create and get pods\/portforward in namespace kube-system: User "u" cannot do this/,
  ],
  [
    'a port on which something listens',
    'explain',
    () => cluster.forwardErrors.set('wrapper-edge-1', 'dial tcp4 127.0.0.1:10361'),
    /port 10361 of Pod kube-system\/wrapper-edge-1 is unreachable: dial tcp4 127\.0\.0\.1:10361/,
  ],
])('an error says that %s is missing', async (_, command, arrange, message) => {
  await cluster.startWrapper('edge-1');
  arrange();
  const { code, err } = await kpw(command, '--node', 'edge-1');
  expect(err).not.toContain('undefined');
  expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(message) });
});

test.each([
  [['explain']],
  [['explain', '--diff', '--all-nodes']],
  [['explain', '--diff', '--node', 'a']],
  [['status', '--node', 'a', '--all-nodes']],
  [['status', '--node', 'a', '--admin-port', '70000']],
  [['status', '--all-nodes', '--parallel', '0']],
])('%j is a wrong command line', async (args) => {
  expect((await kpw(...args)).code).toBe(2);
});

describe('kubectl kpw --all-nodes', () => {
  test('asks all nodes, a few at a time, and those that see the same share one line', async () => {
    for (const node of ['edge-1', 'edge-2', 'edge-3']) await cluster.startWrapper(node);
    const { code, out } = await kpw('explain', 'web', '--all-nodes', '--parallel', '2');
    expect(code).toBe(0);
    expect(out).toMatch(/^ +filtered 1\/2 hostname: 10\.0\.0\.1 +1 node +edge-1$/m);
    expect(out).toMatch(/^ +filtered 1\/2 hostname: 10\.0\.0\.3 +1 node +edge-3$/m);
    expect(cluster.mostForwards).toBeLessThanOrEqual(2);
    const diff = await kpw('explain', 'web', '--all-nodes', '--diff');
    // Each node had its own section, because its name was in the text.
    expect(diff.out).toMatch(/^--- 2 nodes: edge-1, edge-2\nService default\/web: unchanged\n/);
    expect(diff.out).toMatch(/^--- node edge-3\nService /m);
    const list = await kpw('explain', '--all-nodes');
    expect(list.out).toMatch(/^--- 2 nodes: edge-1, edge-3\nSERVICE .*\ndefault/);
    // It was only the header.
    const none = await kpw('explain', '--all-nodes', '-l', 'a=b');
    expect(none.out).toMatch(/^--- 3 nodes: .*\nno Services with labels a=b\n$/);
    cluster.server.annotate('web', 'topologyKeys', '["*"]');
    await eventually(
      async () =>
        (await kpw('explain', 'web', '--all-nodes')).out.includes(
          '3 nodes  edge-1, edge-2, edge-3',
        ),
      true,
    );
  });

  test('a node that does not answer is one line, and the exit code', async () => {
    await cluster.startWrapper('edge-1');
    await cluster.startWrapper('edge-2');
    cluster.forwardErrors.set('wrapper-edge-2', 'no route');
    const { code, out } = await kpw('explain', 'web', '--all-nodes', '-o', 'json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      nodes: [
        { node: 'edge-1', answer: { service: 'default/web' } },
        {
          node: 'edge-2',
          error: { code: 'Unreachable', message: expect.stringContaining('no route') },
        },
      ],
    });
  });
});

/** The node controller does this when a kubelet no longer reports. */
function lose(node: string): void {
  const conditions = [{ type: 'Ready', status: 'Unknown' }];
  cluster.server.patch('nodes', node, { status: { conditions } });
}

// 1.1 had it. The error gave no way out.
test('status --config, which was removed, names the command to use', async () => {
  const { code, err } = await kpw('status', '--config', 'x');
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('kubectl kpw simulate') });
});

// 30 nodes of 300 without power once took 47 s, and a question that was given up held the process.
describe('a node that does not answer', () => {
  test.each([['status'], ['explain', '--all-nodes']])(
    '%s gives it one time limit, and the process ends',
    async (...args) => {
      await cluster.startWrapper('edge-1');
      const silent = Array.from({ length: 30 }, (_, n) => `off-${n}`);
      for (const node of silent) {
        cluster.pods.push({ name: `wrapper-${node}`, node });
        cluster.silentForwards.add(`wrapper-${node}`);
      }
      const line = [...args, '--request-timeout', '1', '--kubeconfig', cluster.kubeconfig];
      const child = spawnMortal(process.execPath, [PROGRAM, ...line], { stdout: 'pipe' });
      const [out, [code]] = await Promise.all([
        text(child.stdout as Readable),
        once(child, 'close') as Promise<[number]>,
      ]);
      expect({ code, out }).toEqual({
        code: args[0] === 'status' ? 3 : 1,
        out: expect.stringMatching(/has not answered (in time|within 1 s).*/),
      });
      expect(out).toContain('30 ');
      expect(cluster.forwards).toHaveLength(31);
      await eventually(() => cluster.openForwards, 0);
    },
  );

  test('is not asked if its kubelet does not report, except with --node', async () => {
    for (const node of ['edge-1', 'edge-2', 'edge-3']) await cluster.startWrapper(node);
    lose('edge-2');
    lose('edge-3');
    const why = 'the kubelet of the node does not answer, so its wrapper was not asked';
    const status = await kpw('status');
    expect(status).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        new RegExp(`^\\[not known\\] wrapper +${why}.*2 of 3 nodes: edge-2, edge-3`, 'm'),
      ),
    });
    const explained = await kpw('explain', 'web', '--all-nodes');
    expect(explained).toMatchObject({
      code: 1,
      out: expect.stringMatching(
        new RegExp(`^! +no answer: ${why}.* 2 nodes +edge-2, edge-3$`, 'm'),
      ),
    });
    expect(cluster.forwards).toEqual(['wrapper-edge-1 10361', 'wrapper-edge-1 10361']);
    expect((await kpw('explain', 'web', '--node', 'edge-2')).code).toBe(0);
  });

  test('is asked without the right to list nodes', async () => {
    await cluster.startWrapper('edge-1');
    lose('edge-1');
    cluster.refusals.set('/api/v1/nodes', 403);
    expect((await kpw('explain', 'web', '--all-nodes')).code).toBe(0);
  });
});

const ALL = ['edge-1', 'edge-2', 'edge-3'];
const CANARY = { 'kube-proxy-wrapper.io/track': 'canary' };

async function start(...nodes: string[]): Promise<void> {
  for (const node of nodes) await cluster.startWrapper(node);
}

/** A Pod that runs no container, for this reason. */
function waitsFor(reason: string, last: string) {
  const state = { waiting: { reason } };
  const lastState = { terminated: { reason: 'Error', message: last, exitCode: 1 } };
  const containerStatuses = [{ name: 'kube-proxy-wrapper', state, lastState }];
  return { ready: false, status: { containerStatuses } };
}

/** The status of a Pod whose container was killed some seconds ago, and runs again. */
function killed(secondsAgo: number) {
  const time = new Date(Date.now() - secondsAgo * 1000).toISOString();
  const message = `{"msg":"refused","err":{"message":"Expired: ${secondsAgo} is too old"}}`;
  const state = { running: { startedAt: time } };
  const lastState = { terminated: { reason: 'Error', message, exitCode: 137, finishedAt: time } };
  return { containerStatuses: [{ name: 'kube-proxy-wrapper', state, lastState }] };
}

/** A Pod of a DaemonSet that the scheduler does not place on its node. */
function unschedulable(node: string) {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }];
  const required = { nodeSelectorTerms: [{ matchFields }] };
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
  const reason = { reason: 'Unschedulable', message: 'no memory' };
  const conditions = [{ type: 'PodScheduled', status: 'False', ...reason }];
  return {
    ready: false,
    spec: { nodeName: undefined, affinity: { nodeAffinity } },
    status: { phase: 'Pending', conditions },
  };
}

interface StatusCase {
  readonly rule: string;
  readonly arrange: () => Promise<void>;
  /** Default: `status` of all nodes. */
  readonly args?: string[];
  readonly code: number;
  readonly prints: readonly (string | RegExp)[];
  readonly never?: string;
}

describe('kubectl kpw status', () => {
  test.each<StatusCase>([
    {
      rule: 'nodes on which all is well are one line, and those without kube-proxy are counted apart',
      arrange: () => start(...ALL),
      code: 0,
      prints: [
        '[not yet] kube-proxy   no kube-proxy has used this wrapper since it started (3 of 3 nodes: edge-1, edge-2, edge-3)',
        /^version \S+, settings [0-9a-f]{8}: edge-1, edge-2, edge-3$/m,
        /^0 of 3 nodes are well, 3 not pointed at the wrapper$/m,
      ],
      never: '[FAIL]',
    },
    {
      // Every remote command once said no problem, or that the connection was refused.
      rule: 'a roll-out that is stuck is said in the last words of the wrapper',
      async arrange() {
        await start(...ALL);
        for (const node of ['edge-1', 'edge-2']) {
          const crash = waitsFor('CrashLoopBackOff', 'kube-proxy-wrapper: unknown key');
          cluster.pods.push({ name: `next-${node}`, node, ...crash });
        }
      },
      code: 3,
      prints: [
        '[FAIL] wrapper      a Pod does not run: CrashLoopBackOff: ended with code 1: kube-proxy-wrapper: unknown key (2 of 3 nodes: edge-1, edge-2)',
      ],
    },
    {
      // The age differs from node to node, and so did the resourceVersion in the last line of the log.
      rule: 'nodes whose wrapper was killed, and runs again, share a line, and are asked',
      async arrange() {
        await start('edge-1', 'edge-2');
        for (const [index, { node }] of cluster.pods.entries()) {
          cluster.pods[index] = { ...(cluster.pods[index] as FakePod), status: killed(9 + index) };
          expect(node).toBe(ALL[index]);
        }
      },
      code: 3,
      prints: [
        /^\[FAIL\] wrapper +the only Pod of the node was killed \(137\), and runs again \(2 of 3 nodes: edge-1, edge-2\)\n +next: see kubectl logs --previous$/m,
        /no kube-proxy has used this wrapper since it started \(2 of 3/,
      ],
      never: 'Expired',
    },
    {
      rule: 'the line of one node says how long ago its wrapper was killed',
      async arrange() {
        await start('edge-1');
        cluster.pods[0] = { ...(cluster.pods[0] as FakePod), status: killed(9) };
      },
      args: ['--node', 'edge-1'],
      code: 3,
      prints: [/was killed \(137\), and runs again \(wrapper-edge-1, (9|1\d) s ago\)$/m],
    },
    {
      rule: 'a node whose only Pod does not run, and one that does not answer, are problems',
      async arrange() {
        await start('edge-2');
        const { ready, status } = waitsFor('ImagePullBackOff', '');
        cluster.pods.push({
          name: 'a',
          node: 'edge-1',
          ready,
          status: { ...status, phase: 'Pending' },
        });
        cluster.forwardErrors.set('wrapper-edge-2', `no route${' again'.repeat(50)}`);
      },
      code: 3,
      prints: [
        /the only Pod of the node does not run: ImagePullBackOff \(1 of 3 nodes: edge-1; a\)\n +next: correct .* the label/,
        /^.{0,80}the wrapper does not answer \(1 of 3 nodes: edge-2; .*no route.{0,200}$/m,
        /^\[not yet\] wrapper +no wrapper on this node \(1 of 3 nodes: edge-3\)/m,
      ],
    },
    {
      // It once ended the whole command.
      rule: 'another program at the admin port of one node is a problem of that node',
      async arrange() {
        await start('edge-1', 'edge-2');
        const other = closedLater(await startServer((_, response) => void response.end('{}')));
        cluster.adminUrls.set('wrapper-edge-2', other.url.origin);
      },
      code: 3,
      prints: [
        /^\[FAIL\] wrapper +the wrapper does not answer \(1 of 3 nodes: edge-2; .*HTTP 200: \{\}/m,
        /^version .*: edge-1$/m,
      ],
    },
    {
      // It has no nodeName, so status did not see it.
      rule: 'a Pod that finds no room on its node is a problem',
      async arrange() {
        await start('edge-1');
        for (const node of ['edge-1', 'edge-2']) {
          cluster.pods.push({ name: `next-${node}`, node, ...unschedulable(node) });
        }
      },
      code: 3,
      prints: [
        /a Pod does not run: Unschedulable: no memory \(1 of 3 nodes: edge-1; next-edge-1\)\n +next: make room on the node, .*; the Pod before it serves/,
        'the only Pod of the node does not run: Unschedulable: no memory (1 of 3 nodes: edge-2',
      ],
    },
    {
      // The field selector of the node excludes it.
      rule: 'a Pod that finds no room on its node is found by the name of the node',
      async arrange() {
        await start('edge-1');
        for (const node of ['edge-1', 'edge-2', 'edge-3']) {
          cluster.pods.push({ name: `next-${node}`, node, ...unschedulable(node) });
        }
      },
      args: ['--node', 'edge-2'],
      code: 3,
      prints: [/^\[FAIL\] wrapper +the only Pod .*: Unschedulable: no memory \(next-edge-2\)$/m],
    },
    {
      rule: 'two settings for long are a problem',
      async arrange() {
        await cluster.startWrapper('edge-1', {}, { daemonSet: 'kpw' });
        const newer = { daemonSet: 'kpw', created: '2026-01-02T00:00:00Z' };
        await cluster.startWrapper('edge-2', { minReady: { '*': 2 } }, newer);
      },
      code: 3,
      prints: [
        /^\[FAIL\] wrapper +still runs version .*; the newest Pod runs .* \(1 of 3 nodes: edge-1;/m,
      ],
    },
    {
      rule: 'two settings in a roll-out that goes on are no problem',
      async arrange() {
        await cluster.startWrapper('edge-1', {}, { daemonSet: 'kpw' });
        const newest = { daemonSet: 'kpw', created: new Date().toISOString() };
        await cluster.startWrapper('edge-2', { minReady: { '*': 2 } }, newest);
      },
      code: 0,
      prints: [],
      never: 'still runs version',
    },
    {
      rule: 'a new Pod that does not run is not the one that others lag behind',
      async arrange() {
        const newer = { daemonSet: 'kpw', created: '2026-01-02T00:00:00Z' };
        await cluster.startWrapper('edge-1', { minReady: { '*': 2 } }, newer);
        await cluster.startWrapper('edge-2', {}, { daemonSet: 'kpw' });
        const crash = waitsFor('CrashLoopBackOff', '');
        const newest = { daemonSet: 'kpw', created: '2026-01-03T00:00:00Z' };
        cluster.pods.push({ name: 'next-edge-2', node: 'edge-2', ...crash, ...newest });
      },
      code: 3,
      prints: [/the newest Pod runs .* \(1 of 3 nodes: edge-2;/],
    },
    {
      rule: 'a canary has settings of its own, for as long as it lasts',
      async arrange() {
        for (const node of ['edge-1', 'edge-2']) {
          await cluster.startWrapper(node, {}, { daemonSet: 'kpw' });
        }
        const keys = ['kubernetes.io/hostname', '*'];
        const pod = { daemonSet: 'kpw-canary', labels: CANARY };
        await cluster.startWrapper('edge-3', { defaultTopologyKeys: keys }, pod);
      },
      code: 0,
      prints: [
        /^version .*, settings \w+: edge-1, edge-2$/m,
        /^version .*, settings \w+: edge-3$/m,
      ],
      never: '[FAIL]',
    },
    {
      rule: 'without the right to list nodes only those with a wrapper are known',
      async arrange() {
        await start('edge-1');
        cluster.refusals.set('/api/v1/nodes', 403);
      },
      code: 0,
      prints: [/^0 of 1 node is well, 1 not pointed at the wrapper$/m],
    },
    {
      // It was exit code 0, and the names of the Pods in the messages hid the right.
      rule: 'without the right to forward ports the command fails, and one line names the right',
      async arrange() {
        await start(...ALL);
        for (const node of ALL) {
          const path = `/api/v1/namespaces/kube-system/pods/wrapper-${node}/port`;
          cluster.refusals.set(path, 403);
        }
      },
      code: 1,
      prints: [
        /^\[not known\] wrapper +the wrapper was not asked: you need the right to create and get pods\/portforward in namespace kube-system: User "u" cannot .* \(3 of 3 nodes: edge-1, edge-2, edge-3\)$/m,
        /^0 of 3 nodes are well, 3 not known$/m,
      ],
      never: 'next:',
    },
    {
      rule: 'an invalid policy is a line of one node',
      async arrange() {
        cluster.server.annotate('web', 'topologyKeys', '[site]');
        await start('edge-1');
      },
      args: ['--node', 'edge-1'],
      code: 0,
      prints: [/^\[warn\] policies +a policy is invalid.* \(default\/web\)$/m],
    },
    {
      rule: 'nodes with the same findings about policies share a line',
      async arrange() {
        putService(cluster.server, 'broken', ['not a key']);
        putSlice(cluster.server, 'broken-1', 'broken', [{ ip: '10.0.0.9', node: 'edge-1' }]);
        await start(...ALL);
      },
      code: 0,
      prints: [
        /^\[warn\] policies +a policy is invalid.* \(3 of 3 nodes: edge-1, edge-2, edge-3; default\/broken\)$/m,
      ],
    },
  ])('$rule', async ({ arrange, args = [], code, prints, never }) => {
    await arrange();
    const printed = await kpw('status', ...args);
    expect(printed).toMatchObject({ code });
    for (const line of prints) expect(printed.out).toMatch(line);
    if (never !== undefined) expect(printed.out).not.toContain(never);
  });

  // For example a node with the label of a canary that was removed. It has no rules after its next restart.
  test('a kube-proxy that is pointed at the wrapper on a node without one is a problem', async () => {
    await start('edge-1');
    const sources = [{ configMap: { name: 'kube-proxy-via-wrapper' } }];
    const spec = { volumes: [{ name: 'kube-proxy', projected: { sources } }] };
    const first = { name: 'a', node: 'edge-1', spec };
    cluster.kubeProxies.push(first, { name: 'b', node: 'edge-2', spec });
    cluster.kubeProxies.push({ name: 'c', node: 'edge-3' });
    const text = 'kube-proxy is pointed at the wrapper, and no wrapper is on this node';
    const { code, out } = await kpw('status');
    expect(code).toBe(3);
    expect(out).toContain(`[FAIL] wrapper      ${text} (1 of 3 nodes: edge-2)`);
    expect(out).toContain('[not yet] wrapper      no wrapper on this node (1 of 3 nodes: edge-3)');
    const unused = 'kube-proxy is pointed at this wrapper, and has not connected';
    expect(out).toContain(`[FAIL] kube-proxy   ${unused} (1 of 3 nodes: edge-1)`);
    cluster.kubeProxies[0] = { ...first, created: new Date().toISOString() };
    const soon = await kpw('status', '--node', 'edge-1');
    expect(soon).toMatchObject({ code: 0, out: expect.stringContaining(`${unused} yet`) });
    cluster.kubeProxies[0] = first;
    const pod = cluster.pods[0] as FakePod;
    cluster.pods[0] = { ...pod, created: new Date().toISOString() };
    expect(await kpw('status', '--node', 'edge-1')).toMatchObject({ code: 0, out: soon.out });
    cluster.pods.length = 0;
    expect((await kpw('status')).out).toContain(`${text} (2 of 3 nodes: edge-1, edge-2)`);
  });

  // The first made a node without a name, and the others a problem of a node that has no such kube-proxy any more.
  test.each<[string, Partial<FakePod>]>([
    ['has no node yet', { spec: { nodeName: undefined }, status: { phase: 'Pending' } }],
    ['was evicted', { status: { phase: 'Failed' } }],
    ['ends', { deleted: true }],
  ])('a kube-proxy whose Pod %s is not pointed at a wrapper', async (_, { spec, ...pod }) => {
    await start('edge-1');
    const sources = [{ configMap: { name: 'kube-proxy-via-wrapper' } }];
    const volumes = [{ name: 'kube-proxy', projected: { sources } }];
    cluster.kubeProxies.push({ name: 'a', node: 'edge-2', ...pod, spec: { volumes, ...spec } });
    const { code, out } = await kpw('status');
    expect(code).toBe(0);
    expect(out).toContain(
      '[not yet] wrapper      no wrapper on this node (2 of 3 nodes: edge-2, edge-3)',
    );
  });
});

test('nodes with the same cause name it, and others do not', () => {
  const line = { id: 'stateDir', state: 'problem', text: 'the state cannot be written' } as const;
  const printed = (...causes: string[]) =>
    clusterReport(
      causes.map((detail, index) => ({ node: `n${index}`, lines: [{ ...line, detail }] })),
    ).text({ wide: false, headers: true });
  expect(printed('ENOSPC', 'ENOSPC')).toContain('written (2 of 2 nodes: n0, n1; ENOSPC)');
  expect(printed('ENOSPC', 'EROFS')).toContain('written (2 of 2 nodes: n0, n1)');
});

test('the states of lines have words, and are counted', () => {
  const states = ['ok', 'problem', 'warning', 'unknown', 'notConnected', 'notConnected'] as const;
  const lines = states.map((state): StatusLine => ({ id: 'rules', state, text: state }));
  expect(formatStatusLines(lines)).toBe(`[ok]   rules        ok
[FAIL] rules        problem
[warn] rules        warning
[not known] rules        unknown
[not yet] rules        notConnected
[not yet] rules        notConnected

1 problem, 1 warning, 1 not known, 2 not yet
`);
});

test('5,000 nodes fit on a screen, the problems first', () => {
  const ok = { id: 'wrapper', state: 'ok', text: 'ready' } as const;
  const lost = { id: 'rules', state: 'problem', text: 'the kernel has no rules' } as const;
  const unused = { id: 'kube-proxy', state: 'notConnected', text: 'nobody watches' } as const;
  const nodes = Array.from({ length: 5_000 }, (_, n): NodeReport => {
    const node = `edge-${n}`;
    if (n % 100 === 7) return { node, lines: [ok, { ...lost, detail: node }] };
    return { node, version: '1.1.0', lines: n % 4 === 0 ? [ok, unused] : [ok] };
  });
  const out = clusterReport(nodes).text({ wide: false, headers: true });
  const lines = out.trim().split('\n');
  expect(lines).toEqual([
    '[FAIL] rules        the kernel has no rules (50 of 5000 nodes: edge-7, edge-107, edge-207, edge-307, edge-407 and 45 more)',
    expect.stringMatching(/^\[not yet\] kube-proxy +nobody watches \(1250 of 5000 nodes: .{1,80}$/),
    '',
    expect.stringMatching(/^version 1\.1\.0, .{1,80} more$/),
    '3700 of 5000 nodes are well, 50 with problems, 1250 not pointed at the wrapper',
  ]);
});
