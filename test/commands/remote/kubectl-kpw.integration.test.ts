import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { StatusLine } from '../../../src/admin/status/status-line.ts';
import { REMOTE_COMMANDS } from '../../../src/commands/definitions/remote.ts';
import { formatStatusLines } from '../../../src/commands/output/status-text.ts';
import { clusterReport, type NodeReport } from '../../../src/commands/remote/cluster-report.ts';
import { clusterStatusExecutor } from '../../../src/commands/remote/cluster-status.ts';
import type { Finding } from '../../../src/commands/simulate/findings.ts';
import { VERSION } from '../../../src/version.ts';
import { eventually } from '../../support/eventually.ts';
import {
  type FakePod,
  type RemoteCluster,
  startRemoteCluster,
} from '../../support/remote/remote-cluster.ts';
import { runInProcess } from '../../support/remote/run-in-process.ts';
import { createSmallCluster, putService, putSlice } from '../../support/wrapper/small-cluster.ts';

let cluster: RemoteCluster;

beforeEach(async () => {
  // remote-cluster.ts sends the requests on over plain http.
  const server = createSmallCluster({ tls: undefined });
  putService(server, 'web', ['kubernetes.io/hostname', 'site', '*']);
  putSlice(server, 'web-1', 'web', [
    { ip: '10.0.0.1', node: 'edge-1' },
    { ip: '10.0.0.3', node: 'edge-3' },
  ]);
  cluster = await startRemoteCluster(server);
});

afterEach(async () => {
  await cluster.close();
});

/** The real commands, but status does not wait for seconds. */
const commands = REMOTE_COMMANDS.map((command) =>
  command.name === 'status' ? { ...command, execute: clusterStatusExecutor(300) } : command,
);

const kpw = (...args: string[]) =>
  runInProcess(commands, [...args, '--kubeconfig', cluster.kubeconfig]);

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
    cluster.pods.push({ ...later, name: 'next', ready: false });
    cluster.pods.push(
      { ...later, name: 'gone', deleted: true },
      { ...later, name: 'done', phase: 'Succeeded' },
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
    await cluster.startWrapper('edge-1');
    cluster.pods[0] = { ...(cluster.pods[0] as FakePod), daemonSet: 'kpw' };
    const labels = { 'kube-proxy-wrapper.io/track': 'canary' };
    cluster.pods.push({ name: 'b', node: 'edge-2', labels, daemonSet: 'kpw-canary' });
    expect((await kpw('explain', '--node', 'edge-1')).code).toBe(0);
  });
});

test('version prints the version of the program, and asks nobody', async () => {
  expect(await runInProcess(commands, ['version'])).toMatchObject({ code: 0, out: `${VERSION}\n` });
  expect(cluster.forwards).toEqual([]);
});

test('simulate reads the cluster, and one Service of it', async () => {
  const { code, out } = await kpw('simulate', 'svc/web');
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('default/web') });
  expect(out).not.toContain('default/api');
});

describe('errors say what is missing', () => {
  test('no Pod on the node', async () => {
    const { code, err } = await kpw('status', '--node', 'edge-2');
    expect(code).toBe(1);
    expect(err).toMatch(
      /no Pod of the wrapper runs on node edge-2 \(label app\.kubernetes\.io\/name=kube-proxy-wrapper, namespace kube-system\); see kubectl get pods -A .* use --pod-namespace/,
    );
  });

  test('the right to list Pods', async () => {
    cluster.refusals.set('/api/v1/namespaces/kube-system/pods', 403);
    const { code, err } = await kpw('status', '--node', 'edge-1');
    expect(code).toBe(1);
    expect(err).toContain(
      'you need the right to list pods in namespace kube-system: refused on purpose: 403',
    );
  });

  test('the right to forward ports', async () => {
    await cluster.startWrapper('edge-1');
    cluster.refusals.set('/api/v1/namespaces/kube-system/pods/wrapper-edge-1/portforward', 403);
    const { code, err } = await kpw('explain', '--node', 'edge-1');
    expect(code).toBe(1);
    expect(err).toContain(
      'you need the right to create and get pods/portforward in namespace kube-system: refused on purpose: 403',
    );
  });

  test('a port on which nothing listens', async () => {
    await cluster.startWrapper('edge-1');
    cluster.forwardErrors.set(
      'wrapper-edge-1',
      'dial tcp4 127.0.0.1:10361: connect: connection refused',
    );
    const { code, err } = await kpw('explain', '--node', 'edge-1');
    expect(code).toBe(1);
    expect(err).toContain(
      'port 10361 of Pod kube-system/wrapper-edge-1 cannot be reached: dial tcp4 127.0.0.1:10361',
    );
  });

  test.each([
    [['explain']],
    [['status', '--node', 'a', '--all-nodes']],
    [['status', '--node', 'a', '--admin-port', '70000']],
    [['status', '--all-nodes', '--parallel', '0']],
  ])('%j is a wrong command line', async (args) => {
    expect((await kpw(...args)).code).toBe(2);
  });
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
    expect(diff.out).toMatch(/^--- node edge-3\ndefault\/web on node edge-3\n/m);
    const list = await kpw('explain', '--all-nodes');
    expect(list.out).toMatch(/^--- 2 nodes: edge-1, edge-3\nSERVICE .*\ndefault/);
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

describe('kubectl kpw status', () => {
  const start = async (...nodes: string[]) => {
    for (const node of nodes) await cluster.startWrapper(node);
  };
  const all = ['edge-1', 'edge-2', 'edge-3'];

  test('nodes on which all is well are one line, and those without kube-proxy are counted apart', async () => {
    await start(...all);
    const { code, out } = await kpw('status');
    expect(code).toBe(0);
    expect(out).toMatch(
      /^\[not yet\] kube-proxy +no kube-proxy has used this wrapper since it started \(3 of 3 nodes: edge-1, edge-2, edge-3\)/m,
    );
    expect(out).toMatch(
      new RegExp(`^version ${VERSION}, settings [0-9a-f]{8}: edge-1, edge-2, edge-3$`, 'm'),
    );
    expect(out).toMatch(/^0 of 3 nodes are well, 3 not pointed at the wrapper yet$/m);
    expect(out).not.toContain('[FAIL]');
  });

  test('one node has all its lines', async () => {
    await start('edge-1');
    const { code, out } = await kpw('status', '--node', 'edge-1');
    expect(code).toBe(0);
    expect(out).toMatch(/^\[ok\] +wrapper +ready$/m);
    expect(out).toMatch(/^\[ok\] +expected +this node sees what simulate computes$/m);
  });

  // Every remote command once said no problem, or that the connection was refused.
  test('a roll-out that is stuck is said in the last words of the wrapper', async () => {
    await start(...all);
    const last = 'kube-proxy-wrapper: settings: unknown key "defaultTopologyKey"';
    const crash = { reason: 'CrashLoopBackOff', last: `{"msg":"starts"}\n${last}\n` };
    for (const node of ['edge-1', 'edge-2']) {
      cluster.pods.push({ name: `next-${node}`, node, ready: false, crash });
    }
    const { code, out } = await kpw('status');
    expect(code).toBe(3);
    expect(out).toContain(
      `[FAIL] wrapper      a Pod does not run: CrashLoopBackOff: ${last} (2 of 3 nodes: edge-1, edge-2)`,
    );
  });

  test('a node whose only Pod does not run, and one that does not answer, are problems', async () => {
    await start('edge-2');
    const crash = { reason: 'ImagePullBackOff', last: '' };
    cluster.pods.push({ name: 'a', node: 'edge-1', phase: 'Pending', ready: false, crash });
    cluster.forwardErrors.set('wrapper-edge-2', `no route${' again'.repeat(50)}`);
    const { code, out } = await kpw('status');
    expect(code).toBe(3);
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThan(300);
    expect(out).toMatch(
      /the only Pod of the node does not run: ImagePullBackOff \(1 of 3 nodes: edge-1; a\)\n +next: correct .* the label/,
    );
    expect(out).toMatch(/the wrapper does not answer \(1 of 3 nodes: edge-2; .*no route/);
    expect(out).toMatch(/^\[not yet\] wrapper +no wrapper on this node \(1 of 3 nodes: edge-3\)/m);
  });

  // Between two waits it has ended, or runs for a moment. Status then once said that all is well.
  test('a Pod that crashes again and again is one problem at each moment', async () => {
    await start(...all);
    const crash = { reason: 'CrashLoopBackOff', last: 'no such key' };
    const next = { ready: false, crash };
    cluster.pods.push({ name: 'a', node: 'edge-1', ...next });
    cluster.pods.push({ name: 'b', node: 'edge-2', ...next, crash: { ...crash, moment: 'ended' } });
    // The Pod before it answers its probes.
    const starts = { ready: true, crash: { ...crash, moment: 'starts' } } as const;
    cluster.pods.push({ name: 'c', node: 'edge-3', ...starts });
    expect((await kpw('status')).out).toContain(
      '[FAIL] wrapper      a Pod does not run: CrashLoopBackOff: no such key (3 of 3 nodes: edge-1, edge-2, edge-3)',
    );
  });

  // The image of both containers is wrong, and only the first one has been started.
  test('the reason of an init container counts, and that of an end that the log does not know', async () => {
    await start('edge-1', 'edge-2');
    const starts = { reason: 'PodInitializing', last: '' };
    cluster.pods.push({
      name: 'a',
      node: 'edge-1',
      ready: false,
      crash: starts,
      init: 'ImagePullBackOff',
    });
    const killed = { reason: 'CrashLoopBackOff', end: 'OOMKilled', last: '{"msg":"listening"}' };
    cluster.pods.push({ name: 'b', node: 'edge-2', ready: false, crash: killed });
    const { out } = await kpw('status');
    expect(out).toContain('a Pod does not run: ImagePullBackOff (1 of 3 nodes: edge-1; a)');
    expect(out).toContain('a Pod does not run: CrashLoopBackOff: OOMKilled: listening (1 of 3');
  });

  // It has no nodeName, so status did not see it.
  test('a Pod that finds no room on its node is a problem', async () => {
    await start('edge-1');
    const unschedulable = '0/3 nodes are available: 1 Insufficient memory';
    const pending = { phase: 'Pending', ready: false, unschedulable };
    cluster.pods.push({ name: 'a', node: 'edge-1', ...pending });
    cluster.pods.push({ name: 'b', node: 'edge-2', ...pending });
    const { code, out } = await kpw('status');
    expect(code).toBe(3);
    expect(out).toContain(
      `[FAIL] wrapper      a Pod does not run: Unschedulable: ${unschedulable} (1 of 3 nodes: edge-1; a)
                    next: make room on the node, or request less memory; the Pod before it serves`,
    );
    expect(out).toContain(`the only Pod of the node does not run: Unschedulable: ${unschedulable}`);
  });

  // For example a node with the label of a canary that was removed. It has no rules after its next restart.
  test('a kube-proxy that is pointed at the wrapper on a node without one is a problem', async () => {
    await start('edge-1');
    cluster.kubeProxies.push({ name: 'a', node: 'edge-1', pointed: true });
    cluster.kubeProxies.push({ name: 'b', node: 'edge-2', pointed: true });
    cluster.kubeProxies.push({ name: 'c', node: 'edge-3' });
    const text = 'kube-proxy is pointed at the wrapper, and no wrapper is on this node';
    const { code, out } = await kpw('status');
    expect(code).toBe(3);
    expect(out).toContain(`[FAIL] wrapper      ${text} (1 of 3 nodes: edge-2)`);
    expect(out).toContain('[not yet] wrapper      no wrapper on this node (1 of 3 nodes: edge-3)');
    const unused = 'kube-proxy is pointed at this wrapper, and has not connected';
    expect(out).toContain(`[FAIL] kube-proxy   ${unused} (1 of 3 nodes: edge-1)`);
    cluster.kubeProxies[0] = {
      ...(cluster.kubeProxies[0] as FakePod),
      created: new Date().toISOString(),
    };
    const soon = await kpw('status', '--node', 'edge-1');
    expect(soon).toMatchObject({ code: 0, out: expect.stringContaining(`${unused} yet`) });
    cluster.pods.length = 0;
    expect((await kpw('status')).out).toContain(`${text} (2 of 2 nodes: edge-1, edge-2)`);
  });

  test('two settings for long are a problem, those of a roll-out that goes on are not', async () => {
    await start('edge-1');
    await cluster.startWrapper('edge-2', { returnDelaySeconds: 5 });
    const [first, second] = cluster.pods as [FakePod, FakePod];
    cluster.pods[0] = { ...first, daemonSet: 'kpw' };
    cluster.pods[1] = { ...second, daemonSet: 'kpw', created: new Date().toISOString() };
    const rolling = /still runs version/;
    expect((await kpw('status')).out).not.toMatch(rolling);
    cluster.pods[1] = { ...second, daemonSet: 'kpw', created: '2026-01-02T00:00:00Z' };
    const { code, out } = await kpw('status');
    expect(code).toBe(3);
    expect(out).toMatch(
      /^\[FAIL\] wrapper +still runs version .*; the newest Pod runs .* \(1 of 3 nodes: edge-1;/m,
    );
  });

  test('uses the settings in the ConfigMap of the Pods', async () => {
    putService(cluster.server, 'plain', null);
    putSlice(cluster.server, 'plain-1', 'plain', [{ ip: '10.0.1.1', node: 'edge-1' }]);
    const raw = { defaultTopologyKeys: ['kubernetes.io/hostname'] };
    await cluster.startWrapper('edge-2', raw);
    cluster.config = 'defaultTopologyKeys: [kubernetes.io/hostname]\n';
    expect((await kpw('status', '--node', 'edge-2')).out).toMatch(/^\[ok\] +expected/m);
    cluster.config = '{}';
    const { code, out } = await kpw('status', '--node', 'edge-2');
    expect(code).toBe(3);
    expect(out).toMatch(
      /^\[FAIL\] expected .*sees default\/plain filtered {2}0\/1, expected default\/plain unfiltered {2}1\/1/m,
    );
  });

  test('a canary is compared with its own settings, for as long as it lasts', async () => {
    putService(cluster.server, 'plain', null);
    putSlice(cluster.server, 'plain-1', 'plain', [
      { ip: '10.0.1.1', node: 'edge-1' },
      { ip: '10.0.1.3', node: 'edge-3' },
    ]);
    await start('edge-1', 'edge-2');
    await cluster.startWrapper('edge-3', { defaultTopologyKeys: ['kubernetes.io/hostname', '*'] });
    const [first, second, third] = cluster.pods as [FakePod, FakePod, FakePod];
    cluster.pods[0] = { ...first, daemonSet: 'kpw' };
    cluster.pods[1] = { ...second, daemonSet: 'kpw' };
    const labels = { 'kube-proxy-wrapper.io/track': 'canary' };
    const config = 'defaultTopologyKeys: [kubernetes.io/hostname, "*"]\n';
    cluster.pods[2] = { ...third, daemonSet: 'kpw-canary', labels, config };
    const { code, out } = await kpw('status');
    expect({ code, out }).toEqual({ code: 0, out: expect.not.stringContaining('[FAIL]') });
    expect(out).toMatch(/^version .*, settings \w+: edge-1, edge-2$/m);
    expect(out).toMatch(/^version .*, settings \w+: edge-3$/m);
  });

  test('a name of a ConfigMap cannot change the path of the request', async () => {
    await start('edge-1');
    cluster.configMap = '../secrets/token?x=';
    expect((await kpw('status', '--node', 'edge-1')).out).toMatch(/^\[ok\] +expected/m);
  });

  test('a difference that is gone a moment later is not reported', async () => {
    await start(...all);
    const release = cluster.server.freezeWatches();
    cluster.server.annotate('web', 'topologyKeys', '["site"]');
    const running = kpw('status');
    // All nodes have been read once.
    await eventually(() => cluster.forwards.length >= 3, true);
    await eventually(() => cluster.openForwards, 0);
    release();
    expect((await running).out).not.toContain('[FAIL] expected');
  });

  test('a node whose watches hang does not see what is expected', async () => {
    await start(...all);
    const release = cluster.server.freezeWatches();
    cluster.server.annotate('web', 'topologyKeys', '["site"]');
    const { code, out } = await kpw('status');
    release();
    expect(code).toBe(3);
    expect(out).toMatch(/^\[FAIL\] expected +this node does not see what simulate computes/m);
  });

  test('without the right to read the cluster only that line is not known', async () => {
    await start('edge-1');
    cluster.refusals.set('/api/v1/nodes', 403);
    const { code, out } = await kpw('status', '--node', 'edge-1');
    expect(code).toBe(0);
    expect(out).toMatch(/^\[not known\] expected +not compared \(.*403/m);
  });

  test('findings about policies are those of simulate', async () => {
    cluster.server.annotate('web', 'topologyKeys', '[site]');
    await start('edge-1');
    const { code, out } = await kpw('status');
    expect(code).toBe(3);
    expect(out).toMatch(/^! default\/web: .*\n +next: correct the annotation/m);
    // The node reports the same.
    expect(out).not.toContain('[FAIL]');
    expect(out).toMatch(/^0 of 3 nodes are well, 1 with problems, 2 without a wrapper$/m);
    const one = await kpw('status', '--node', 'edge-1');
    expect(one.code).toBe(3);
    expect(one.out).toMatch(/^\[FAIL\] policies +a policy is invalid.* \(default\/web\)$/m);
  });

  test('a misspelt key and a policy without endpoints are reported once', async () => {
    putService(cluster.server, 'typo', ['topology.kubernetes.io/zon', '*']);
    putSlice(cluster.server, 'typo-1', 'typo', [{ ip: '10.0.0.9', node: 'edge-1' }]);
    cluster.server.annotate('web', 'topologyKeys', '["kubernetes.io/hostname"]');
    await start(...all);
    const { code, out } = await kpw('status');
    expect(code).toBe(3);
    expect(out).not.toContain('[FAIL]');
    expect(out.match(/^!.*/gm)).toEqual([
      '! no node has a label for topology.kubernetes.io/zon: the key has no effect anywhere',
      '! default/web: no endpoint left on: edge-2',
    ]);
  });
});

describe('a line about policies of a node', () => {
  const expected = { id: 'expected', state: 'ok', text: 'as simulated' } as const;
  const lost = {
    id: 'policies',
    state: 'problem',
    text: 'a policy leaves no endpoint',
    services: ['default/a', 'default/b'],
  } as const;
  const finding = (service: string, node: string): Finding => ({
    code: 'no-endpoint',
    severity: 'warning',
    service,
    message: 'no endpoint left on',
    subjects: [{ id: node, text: node }],
  });
  const both = [finding('default/a', 'edge-1'), finding('default/b', 'edge-1')];
  const printed = (lines: NodeReport['lines'], findings: readonly Finding[]) =>
    clusterReport([{ node: 'edge-1', lines }], findings).text({ wide: false, headers: true });

  test('is left out if findings name all of it', () => {
    expect(printed([lost, expected], both)).not.toContain('[FAIL]');
  });

  // A canary has settings of its own, and the findings are those of the others.
  test.each<[string, readonly Finding[]]>([
    ['one Service', both.slice(1)],
    ['a Service on another node', [finding('default/a', 'edge-1'), finding('default/b', 'edge-2')]],
    ['a Service by another problem', both.map((each) => ({ ...each, code: 'overload' }))],
  ])('stays if findings do not name %s', (_, findings) => {
    expect(printed([lost, expected], findings)).toContain('[FAIL] policies');
  });

  test('stays if the node does not see what simulate computes', () => {
    expect(printed([lost, { ...expected, state: 'unknown' }], both)).toContain('[FAIL] policies');
  });
});

test('nodes with the same cause name it, and others do not', () => {
  const line = { id: 'stateDir', state: 'problem', text: 'the state cannot be written' } as const;
  const printed = (...causes: string[]) =>
    clusterReport(
      causes.map((detail, index) => ({ node: `n${index}`, lines: [{ ...line, detail }] })),
      [],
    ).text({ wide: false, headers: true });
  expect(printed('ENOSPC', 'ENOSPC')).toContain('written (2 of 2 nodes: n0, n1; ENOSPC)');
  expect(printed('ENOSPC', 'EROFS')).toContain('written (2 of 2 nodes: n0, n1)');
});

test('the states of lines have words, and are counted', () => {
  const states = ['ok', 'problem', 'unknown', 'notConnected', 'notConnected'] as const;
  const lines = states.map((state): StatusLine => ({ id: 'rules', state, text: state }));
  expect(formatStatusLines(lines)).toBe(`[ok]   rules        ok
[FAIL] rules        problem
[not known] rules        unknown
[not yet] rules        notConnected
[not yet] rules        notConnected

1 problem, 1 not known, 2 not yet
`);
});

test('5,000 nodes fit on a screen, the problems first', () => {
  const nodes = Array.from({ length: 5_000 }, (_, n): NodeReport => {
    const node = `edge-${n}`;
    const about = { node, version: '1.1.0', settings: 'abc' };
    const ok = { id: 'wrapper', state: 'ok', text: 'ready' } as const;
    if (n % 100 === 7) {
      const text = 'the kernel has no rules';
      return {
        ...about,
        lines: [ok, { id: 'rules', state: 'problem', text, next: 'look', detail: node }],
      };
    }
    if (n % 3 > 0) return { ...about, lines: [ok] };
    const text = 'nobody watches Services and EndpointSlices through this wrapper';
    return { ...about, lines: [ok, { id: 'kube-proxy', state: 'notConnected', text }] };
  });
  const out = clusterReport(nodes, []).text({ wide: false, headers: true });
  const lines = out.trim().split('\n');
  expect(lines.length).toBeLessThan(12);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(200);
  expect(lines[0]).toBe(
    '[FAIL] rules        the kernel has no rules (50 of 5000 nodes: edge-7, edge-107, edge-207, edge-307, edge-407 and 45 more)',
  );
  expect(lines.at(-1)).toMatch(
    /^\d+ of 5000 nodes are well, 50 with problems, \d+ not pointed at the wrapper yet$/,
  );
});
