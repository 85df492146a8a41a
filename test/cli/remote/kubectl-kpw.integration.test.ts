import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { KUBECTL_KPW } from '../../../cli/definitions/remote.ts';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { isReady } from '../../../src/diagnosis/reading/health.ts';
import { transcriptOf } from '../../support/commands/transcript.ts';
import { eventually } from '../../support/eventually.ts';
import { spawnMortal } from '../../support/process/mortal-child.ts';
import {
  type FakePod,
  type RemoteCluster,
  useRemoteCluster,
} from '../../support/remote/remote-cluster.ts';
import { putNode, putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useAdmin, useCluster, useWrapper } from '../../support/wrapper/use.ts';

/*
 * Three nodes with real wrappers, and a fourth wrapper with other settings, started once. A scene arranges Pods, and
 * the snapshot has all that its command lines print, and which ports were forwarded.
 */
const PROGRAM = resolve(import.meta.dirname, '../../../cli/kubectl-kpw.ts');
const ALL = ['edge-1', 'edge-2', 'edge-3'];
const OTHER = { minReady: { '*': 2 } };
const SITE_AND_REST = ['kubernetes.io/hostname', 'site', '*'];
const MANY = Array.from({ length: 900 }, (_, n) => `10.1.${n >> 8}.${n & 255}`);

let server: ApiServer;
let cluster: RemoteCluster;
/** URLs of admin ports, by node; `other`: of the wrapper with other settings. */
const urls: Record<string, string> = {};

beforeAll(async () => {
  // remote-cluster.ts sends the requests on over plain http.
  server = useCluster({ tls: undefined });
  putService(server, 'web', SITE_AND_REST);
  const ips = ['10.0.0.1', '10.0.0.3'];
  putSlice(server, 'web-1', 'web', [
    { ip: '10.0.0.1', node: 'edge-1' },
    { ip: '10.0.0.3', node: 'edge-3' },
  ]);
  putService(server, 'all', ['*']);
  putSlice(
    server,
    'all-1',
    'all',
    ips.map((ip) => ({ ip, node: 'edge-1' })),
  );
  putService(server, 'try', ['site']);
  server.annotate('try', 'kube-proxy-wrapper.io/filter', 'dry-run');
  putSlice(server, 'try-1', 'try', [
    { ip: '10.0.0.1', node: 'edge-1' },
    { ip: '10.0.0.3', node: 'edge-3' },
  ]);
  putService(server, 'many', null);
  putSlice(
    server,
    'many-1',
    'many',
    MANY.map((ip) => ({ ip, node: 'edge-1' })),
  );
  putService(server, 'broken', ['not a key']);
  putSlice(server, 'broken-1', 'broken', [{ ip: '10.0.0.9', node: 'edge-1' }]);
  cluster = await useRemoteCluster(server);
  for (const node of [...ALL, 'other']) {
    const isOther = node === 'other';
    const raw = isOther ? { ...OTHER, nodeName: 'edge-1' } : { nodeName: node };
    const proxy = await useWrapper(cluster.upstream, { defaultViewsMs: 0 }, raw);
    for (const path of ['/apis/discovery.k8s.io/v1/endpointslices', '/api/v1/services']) {
      await fetch(proxy.url + path);
    }
    await eventually(() => isReady(proxy), true);
    urls[node] = (await useAdmin(proxy)).url;
  }
});

beforeEach(() => {
  cluster.reset();
  for (const node of ALL) setReady(node, 'True');
});

/** `Unknown`: what the node controller sets when a kubelet no longer reports. */
function setReady(node: string, status: 'True' | 'Unknown'): void {
  server.patch('nodes', node, { status: { conditions: [{ type: 'Ready', status }] } });
}

/** Adds the Pod of the wrapper on a node. */
function add(node: string, more: Partial<FakePod> = {}): void {
  cluster.pods.push({ name: `wrapper-${node}`, node, adminUrl: urls[node] as string, ...more });
}

/** Adds a newer Pod on a node, which does not run a wrapper. */
function addNext(node: string, more: Partial<FakePod>): void {
  const next = { name: `next-${node}`, created: '2026-02-01T00:00:00Z', adminUrl: undefined };
  add(node, { ...next, ...more });
}

function addAll(): void {
  for (const node of ALL) add(node);
}

function refuse(path: string, status: number): void {
  cluster.refusals.set(`/api/v1/${path}`, status);
}

const kpw = (line: string) => {
  const places = { KUBECONFIG: cluster.kubeconfig, API: new URL(cluster.url).host };
  return transcriptOf(KUBECTL_KPW, `${line} --kubeconfig KUBECONFIG`, places);
};

const PODS = 'namespaces/kube-system/pods';
const CANARY = { 'kube-proxy-wrapper.io/track': 'canary' };
const VIA_WRAPPER = [
  {
    name: 'kube-proxy',
    projected: { sources: [{ configMap: { name: 'kube-proxy-via-wrapper' } }] },
  },
];
const now = () => new Date().toISOString();

/** A Pod that runs no container, for this reason. */
function waitsFor(reason: string, last: string): Partial<FakePod> {
  const state = { waiting: { reason } };
  const lastState = { terminated: { reason: 'Error', message: last, exitCode: 1 } };
  const containerStatuses = [{ name: 'kube-proxy-wrapper', state, lastState }];
  return { ready: false, status: { containerStatuses } };
}

/** A Pod that is newer than the others, with other settings. */
function withOtherSettings(created = '2026-01-02T00:00:00Z'): Partial<FakePod> {
  return { adminUrl: urls.other as string, created };
}

/** A Pod that became ready some seconds ago. */
function readySince(secondsAgo: number): Partial<FakePod> {
  const lastTransitionTime = new Date(Date.now() - secondsAgo * 1000).toISOString();
  return { status: { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] } };
}

/** A Pod whose container was killed some seconds ago, and runs again. */
function killed(secondsAgo: number): Partial<FakePod> {
  const time = new Date(Date.now() - secondsAgo * 1000).toISOString();
  const message = `{"msg":"refused","err":{"message":"Expired: ${secondsAgo} is too old"}}`;
  const state = { running: { startedAt: time } };
  const lastState = { terminated: { reason: 'Error', message, exitCode: 137, finishedAt: time } };
  return { status: { containerStatuses: [{ name: 'kube-proxy-wrapper', state, lastState }] } };
}

/** A Pod of a DaemonSet that the scheduler does not place on its node. */
function unschedulable(node: string): Partial<FakePod> {
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

type Scene = readonly [rule: string, arrange: () => void, ...lines: string[]];

const NONE = 'explain -l app=none --node edge-1';

const SCENES: readonly Scene[] = [
  ['explain reaches the wrapper of one node', addAll, 'explain web --node edge-3'],
  [
    // The same columns had what the policy would show, and what nodes do see.
    'in a dry run nodes see all endpoints, and what the policy would show stands beside it',
    addAll,
    'explain try --all-nodes',
  ],
  [
    'during an update the Pod that is ready counts, and one that ends does not',
    () => {
      add('edge-1');
      addNext('edge-1', { ready: false });
      addNext('edge-1', { name: 'gone', deleted: true });
      addNext('edge-1', { name: 'done', status: { phase: 'Succeeded' } });
    },
    NONE,
  ],
  [
    // A tenant's newer Pod with the label once answered for the node.
    'a Pod with the label in another namespace is not asked',
    () => {
      add('edge-1');
      addNext('edge-1', { namespace: 'shop' });
    },
    NONE,
  ],
  [
    'two installations in the namespace are an error that names both',
    () => {
      add('edge-1', { daemonSet: 'kpw-old' });
      add('edge-2', { daemonSet: 'kpw-new' });
    },
    'explain --all-nodes',
  ],
  [
    // manifests/canary gives its Pods this label.
    'an installation and its canary are one',
    () => {
      add('edge-1', { daemonSet: 'kpw' });
      add('edge-2', { daemonSet: 'kpw-canary', labels: CANARY });
    },
    NONE,
  ],
  ['simulate reads the cluster, and one Service of it', () => {}, 'simulate svc/web'],
  ['no Pod is on the node', () => {}, 'status --node edge-1', 'explain --node edge-1'],
  [
    'the wrapper is installed in another namespace',
    () => add('edge-1', { namespace: 'edge-system' }),
    'status --node edge-1',
  ],
  [
    // The next step was to point each kube-proxy back.
    'the wrapper is installed in another namespace, and kube-proxies are pointed at it',
    () => {
      add('edge-1', { namespace: 'edge-system' });
      cluster.kubeProxies.push({ name: 'a', node: 'edge-1', spec: { volumes: VIA_WRAPPER } });
    },
    'status',
  ],
  ['a node that does not exist', addAll, 'status --node edge-11', 'explain --node nowhere'],
  [
    // The next step was to see the log of its Pod.
    'a node that was deleted, whose Pods are left over',
    () => {
      addAll();
      add('gone-1', { forwardError: 'no such Node' });
    },
    'status',
    'status --node gone-1',
    'explain web --all-nodes',
    'explain web --node gone-1',
  ],
  ['Pods may not be listed', () => refuse(PODS, 403), 'status --node edge-1'],
  ['the token is not valid', () => refuse(PODS, 401), 'status --node edge-1'],
  ['no API server answers', () => refuse(PODS, 200), 'status --node edge-1'],
  [
    'ports may not be forwarded',
    () => {
      add('edge-1');
      refuse(`${PODS}/wrapper-edge-1/port`, 403);
    },
    'explain --node edge-1',
  ],
  [
    'nothing listens at the port',
    () => add('edge-1', { forwardError: 'dial tcp4 127.0.0.1:10361' }),
    'explain --node edge-1',
  ],
  [
    'command lines that are wrong',
    () => {},
    'explain',
    'explain --diff --all-nodes',
    'explain --diff --node a',
    'status --node a --all-nodes',
    'status --node a --admin-port 70000',
    'status --all-nodes --parallel 0',
    'status --context none',
    // 1.1 had it. The error gave no way out.
    'status --config x',
  ],
  [
    // kube-proxy there used the API server. Only --node said that.
    'explain of all nodes says where no client reads the view',
    () => add('edge-3'),
    'explain web --all-nodes',
    'explain --all-nodes',
  ],
  [
    // Each node once had its own section of a diff, because its name was in the text.
    'nodes that see the same share one line',
    addAll,
    'explain web --all-nodes',
    'explain all --all-nodes',
    'explain web --all-nodes -o wide',
    'explain web --all-nodes --diff',
    'explain --all-nodes',
    // It was only the header.
    'explain --all-nodes -l a=b',
    'explain --all-nodes -n none',
    'explain --all-nodes -A --warnings --no-headers',
  ],
  [
    'a node that does not answer is one line, and the exit code',
    () => {
      add('edge-1');
      add('edge-2', { forwardError: 'no route' });
    },
    'explain web --all-nodes',
    'explain web --diff --all-nodes -o json',
  ],
  [
    'a node whose kubelet does not report is not asked, except with --node',
    () => {
      addAll();
      setReady('edge-2', 'Unknown');
      setReady('edge-3', 'Unknown');
    },
    'status',
    'explain web --all-nodes',
    'explain -l app=none --node edge-2',
  ],
  [
    'without the right to list nodes it is asked, and only nodes with a wrapper are known',
    () => {
      add('edge-1');
      setReady('edge-1', 'Unknown');
      refuse('nodes', 403);
    },
    'explain web --all-nodes',
    'status',
  ],
  ['nodes on which all is well are one line', addAll, 'status', 'status --node edge-1'],
  [
    // Every remote command once said no problem, or that the connection was refused.
    'a roll-out that is stuck is said in the last words of the wrapper',
    () => {
      addAll();
      const crash = waitsFor('CrashLoopBackOff', 'kube-proxy-wrapper: unknown key');
      for (const node of ['edge-1', 'edge-2']) addNext(node, crash);
    },
    'status',
  ],
  [
    // The age differs from node to node, and so did the resourceVersion in the last line of the log.
    // After a power cut all nodes had a problem for a minute, while all served.
    'nodes whose wrapper was killed, and serves again, share a line, and are well',
    () => {
      add('edge-1', killed(9));
      add('edge-2', killed(10));
    },
    'status',
    'status --node edge-1',
  ],
  [
    'a wrapper that was killed, and runs again without an answer, is a problem',
    () => add('edge-1', { ...killed(9), forwardError: 'connection refused' }),
    'status',
  ],
  [
    'and so is the next Pod of a roll-out, because the answer is that of the Pod before it',
    () => {
      add('edge-1');
      addNext('edge-1', killed(9));
    },
    'status',
  ],
  [
    'a node whose only Pod does not run, and one that does not answer, are problems',
    () => {
      const { ready, status } = waitsFor('ImagePullBackOff', '');
      add('edge-1', { ready: ready === true, status: { ...status, phase: 'Pending' } });
      add('edge-2', { forwardError: `no route${' again'.repeat(50)}` });
    },
    'status',
  ],
  [
    // It once ended the whole command.
    'another program at the admin port of one node is a problem of that node',
    () => {
      add('edge-1');
      add('edge-2', { adminUrl: cluster.url });
    },
    'status',
  ],
  [
    // It has no nodeName, so status did not see it; and the field selector of the node excludes it.
    'a Pod that finds no room on its node is a problem',
    () => {
      add('edge-1');
      for (const node of ['edge-1', 'edge-2']) addNext(node, unschedulable(node));
    },
    'status',
    'status --node edge-2',
  ],
  [
    'two settings for long are a problem',
    () => {
      add('edge-1', { daemonSet: 'kpw' });
      add('edge-2', { daemonSet: 'kpw', ...withOtherSettings() });
    },
    'status',
  ],
  [
    'two settings in a roll-out that goes on are no problem',
    () => {
      add('edge-1', { daemonSet: 'kpw' });
      add('edge-2', { daemonSet: 'kpw', ...withOtherSettings(now()) });
    },
    'status',
  ],
  [
    'a new Pod that does not run is not the one that others lag behind',
    () => {
      add('edge-1', { daemonSet: 'kpw', ...withOtherSettings() });
      add('edge-2', { daemonSet: 'kpw' });
      addNext('edge-2', { daemonSet: 'kpw', ...waitsFor('CrashLoopBackOff', '') });
    },
    'status',
  ],
  [
    // Its age was that of the new Pod, and its settings those of the old one, so nodes that are updated lagged behind.
    'a new Pod that runs and is never ready is not the one that others lag behind',
    () => {
      add('edge-1', { daemonSet: 'kpw', ...withOtherSettings() });
      add('edge-2', { daemonSet: 'kpw' });
      addNext('edge-2', { daemonSet: 'kpw', ready: false });
    },
    'status',
  ],
  [
    // Its controller (1.36, 1.37) does not look again if a DaemonSet changes soon after a Pod became ready.
    'two ready Pods on a node are a roll-out that has stopped, and nobody knows which of them has answered',
    () => {
      add('edge-1', { daemonSet: 'kpw' });
      addNext('edge-1', { daemonSet: 'kpw', adminUrl: urls['edge-1'], ...readySince(70) });
      add('edge-2', { daemonSet: 'kpw', ...withOtherSettings() });
    },
    'status',
  ],
  [
    'two ready Pods on a node are no problem for a minute, nor those of two DaemonSets or of a lost node',
    () => {
      add('edge-1', { daemonSet: 'kpw' });
      addNext('edge-1', { daemonSet: 'kpw', adminUrl: urls['edge-1'], ...readySince(50) });
      add('edge-2', { daemonSet: 'kpw' });
      addNext('edge-2', { daemonSet: 'other', labels: CANARY, adminUrl: urls['edge-2'] });
      add('edge-3', { daemonSet: 'kpw' });
      addNext('edge-3', { daemonSet: 'kpw', ...readySince(70) });
      setReady('edge-3', 'Unknown');
    },
    'status',
  ],
  [
    // It never ends, and the Pod before it answers.
    'a new Pod that cannot mount a volume is a roll-out that has stopped',
    () => {
      add('edge-1', { daemonSet: 'kpw' });
      const state = { waiting: { reason: 'ContainerCreating' } };
      const containerStatuses = [{ name: 'kube-proxy-wrapper', state }];
      const status = { phase: 'Pending', containerStatuses };
      addNext('edge-1', { daemonSet: 'kpw', ready: false, status });
    },
    'status',
  ],
  [
    'a new Pod shows that the roll-out goes on, whether or not it answers',
    () => {
      add('edge-1', { daemonSet: 'kpw', ...withOtherSettings() });
      add('edge-2', { daemonSet: 'kpw' });
      addNext('edge-2', { daemonSet: 'kpw', ready: false, created: now() });
    },
    'status',
  ],
  [
    'a canary has settings of its own, for as long as it lasts',
    () => {
      for (const node of ['edge-1', 'edge-2']) add(node, { daemonSet: 'kpw' });
      add('edge-3', { daemonSet: 'kpw-canary', labels: CANARY, ...withOtherSettings() });
    },
    'status',
  ],
  [
    // It was exit code 0, and the names of the Pods in the messages hid the right.
    'without the right to forward ports the command fails, and one line names the right',
    () => {
      addAll();
      for (const node of ALL) refuse(`${PODS}/wrapper-${node}/port`, 403);
    },
    'status',
  ],
  [
    // For example a node with the label of a canary that was removed. It has no rules after its next restart.
    'a kube-proxy that is pointed at the wrapper on a node without one is a problem',
    () => {
      add('edge-1');
      const spec = { volumes: VIA_WRAPPER };
      for (const node of ['edge-1', 'edge-2']) cluster.kubeProxies.push({ name: 'a', node, spec });
      cluster.kubeProxies.push({ name: 'c', node: 'edge-3' });
    },
    'status',
  ],
  [
    'a kube-proxy that is pointed at the wrapper has a minute to connect',
    () => {
      add('edge-1');
      const spec = { volumes: VIA_WRAPPER };
      cluster.kubeProxies.push({ name: 'a', node: 'edge-1', spec, created: now() });
    },
    'status --node edge-1',
  ],
  [
    'and so it has if the wrapper is new',
    () => {
      add('edge-1', { created: now() });
      cluster.kubeProxies.push({ name: 'a', node: 'edge-1', spec: { volumes: VIA_WRAPPER } });
    },
    'status --node edge-1',
  ],
  [
    // Its Pod is old. It was a problem immediately, and the next step led to the log of kube-proxy.
    'and so it has if the container of the wrapper has just been started again',
    () => {
      add('edge-1', killed(5));
      cluster.kubeProxies.push({ name: 'a', node: 'edge-1', spec: { volumes: VIA_WRAPPER } });
    },
    'status --node edge-1',
  ],
  [
    // Since 1.37 it ends when its Node changes. Only a kubelet with FallbackToLogsOnError has its words.
    'a kube-proxy that has ended is shown, with what its kubelet knows of it',
    () => {
      for (const node of ['edge-1', 'edge-2', 'edge-3']) add(node);
      const log =
        'I1 node.go:208] "NodeIPs changed for the node" node="edge-1" newNodeIPs=["10.0.0.2"]';
      const ended = (secondsAgo: number, exitCode: number, message?: string) => {
        const finishedAt = new Date(Date.now() - secondsAgo * 1000).toISOString();
        const terminated = { exitCode, reason: 'Error', message, finishedAt };
        const container = { name: 'kube-proxy', restartCount: 2, lastState: { terminated } };
        return { status: { containerStatuses: [container] } };
      };
      cluster.kubeProxies.push({ name: 'a', node: 'edge-1', ...ended(5, 1, log) });
      cluster.kubeProxies.push({ name: 'b', node: 'edge-2', ...ended(65, 1) });
      cluster.kubeProxies.push({ name: 'c', node: 'edge-3', ...ended(4_000, 1) });
      cluster.kubeProxies.push({ name: 'd', node: 'edge-3', ...ended(5, 0) });
    },
    'status',
    'status --node edge-1',
  ],
  [
    'no wrapper runs at all, and a kube-proxy is pointed at one',
    () => cluster.kubeProxies.push({ name: 'a', node: 'edge-1', spec: { volumes: VIA_WRAPPER } }),
    'status',
  ],
  [
    // The first made a node without a name, and the others a problem of a node that has no such kube-proxy any more.
    'a kube-proxy whose Pod has no node yet, was evicted or ends is not pointed at a wrapper',
    () => {
      add('edge-1');
      const spec = { volumes: VIA_WRAPPER };
      const on = { name: 'a', node: 'edge-2', spec };
      const pending = { spec: { ...spec, nodeName: undefined }, status: { phase: 'Pending' } };
      cluster.kubeProxies.push({ ...on, ...pending });
      cluster.kubeProxies.push({ ...on, status: { phase: 'Failed' } }, { ...on, deleted: true });
    },
    'status',
  ],
];

test.each(SCENES)('%s', async (_rule, arrange, ...lines) => {
  arrange();
  const printed: string[] = [];
  for (const line of lines) printed.push(`\n$ kubectl kpw ${line}${await kpw(line)}`);
  const forwards = cluster.forwards.toSorted().join(', ') || 'none';
  expect(`${printed.join('')}\nforwarded: ${forwards}\n`).toMatchSnapshot();
  await eventually(() => cluster.openForwards, 0);
});

test('a few nodes are asked at a time', async () => {
  addAll();
  await kpw('explain --all-nodes --parallel 2');
  expect(cluster.mostForwards).toBeLessThanOrEqual(2);
});

test('the Pods of the wrapper are those of a namespace and a label that are given', async () => {
  add('edge-1', { namespace: 'shop' });
  expect(await kpw('status --node edge-1 --pod-namespace shop')).toMatch(/^\[ok\] +wrapper/m);
  const others = 'status --node edge-1 --pod-namespace shop --pod-selector app=kpw';
  expect(await kpw(others)).toContain('app=kpw');
});

test('a long answer arrives whole', async () => {
  add('edge-1');
  const { endpoints } = JSON.parse(await kpw('explain many --node edge-1 -o json'));
  expect(endpoints).toHaveLength(MANY.length);
});

test('a wrapper that has crashed and now hangs does not only "run again"', async () => {
  add('edge-1', { ...killed(5), forwardError: 'silence' });
  const printed = await kpw('status --node edge-1 --request-timeout 1');
  expect(printed).toContain('the wrapper has not answered in time');
});

// 30 nodes of 300 without power once took 47 s, and a question that was given up held the process.
describe('a node that does not answer', () => {
  beforeAll(() => {
    for (let n = 0; n < 30; n++) putNode(server, `off-${n}`, {});
  });

  test.each([
    ['status', 3],
    ['explain --all-nodes', 1],
  ])('%s gives it one time limit, and the process ends', async (line, exitCode) => {
    add('edge-1');
    for (let n = 0; n < 30; n++) add(`off-${n}`, { forwardError: 'silence' });
    const args = `${line} --request-timeout 1 --kubeconfig ${cluster.kubeconfig}`.split(' ');
    const child = spawnMortal(process.execPath, [PROGRAM, ...args], { stdout: 'pipe' });
    const [out, [code]] = await Promise.all([
      text(child.stdout as Readable),
      once(child, 'close') as Promise<[number]>,
    ]);
    expect(code).toBe(exitCode);
    expect(out).toMatch(/has not answered (in time|within 1 s).*/);
    expect(out).toContain('30 ');
    // On a busy machine some requests arrive after the command has given them up.
    await eventually(() => cluster.forwards.length, 31);
    await eventually(() => cluster.openForwards, 0);
  });
});
