import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { fleetExecutor } from '../../../src/commands/remote/fleet-command.ts';
import { remoteSession } from '../../../src/commands/remote/remote-session.ts';
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

/** The real commands, but fleet does not wait for seconds. */
const session = {
  ...remoteSession,
  commands: remoteSession.commands.map((command) =>
    command.name === 'fleet' ? { ...command, execute: fleetExecutor(300) } : command,
  ),
};

const kpw = (...args: string[]) =>
  runInProcess(session, [...args, '--kubeconfig', cluster.kubeconfig]);

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

  test.each([
    [['explain', 'web', '--diff'], 'default/web on node edge-1'],
    [['status'], `node edge-1: kube-proxy-wrapper ${VERSION}`],
    [['version'], `wrapper  ${VERSION} on node edge-1`],
  ])('%j has the answer of the wrapper', async (args, text) => {
    await cluster.startWrapper('edge-1');
    expect((await kpw(...args, '--node', 'edge-1')).out).toContain(text);
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
    expect((await kpw('version', '--node', 'edge-1')).code).toBe(0);
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

  test('a canary of the same instance is one installation', async () => {
    await cluster.startWrapper('edge-1');
    const labels = { 'app.kubernetes.io/instance': 'kpw' };
    cluster.pods[0] = { ...(cluster.pods[0] as FakePod), labels, daemonSet: 'kpw' };
    cluster.pods.push({ name: 'b', node: 'edge-2', labels, daemonSet: 'kpw-canary' });
    expect((await kpw('explain', '--node', 'edge-1')).code).toBe(0);
  });
});

test('version without a node prints the version of the client, and asks nobody', async () => {
  expect(await kpw('version')).toMatchObject({ code: 0, out: `client   ${VERSION}\n` });
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
    [['explain', '--node', 'a', '--all-nodes']],
    [['explain', '--all-nodes', '--watch']],
    [['status', '--node', 'a', '--admin-port', '70000']],
    [['status', '--all-nodes', '--parallel', '0']],
  ])('%j is a wrong command line', async (args) => {
    expect((await kpw(...args)).code).toBe(2);
  });
});

describe('kubectl kpw --all-nodes', () => {
  test('asks all nodes, a few at a time', async () => {
    for (const node of ['edge-1', 'edge-2', 'edge-3']) await cluster.startWrapper(node);
    const { code, out } = await kpw('version', '--all-nodes', '--parallel', '2');
    expect(code).toBe(0);
    const lines = out.split('\n').slice(1, 4);
    expect(lines).toEqual(['edge-1', 'edge-2', 'edge-3'].map((node) => `${node}  ${VERSION}`));
    expect(cluster.mostForwards).toBeLessThanOrEqual(2);
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

describe('kubectl kpw fleet', () => {
  const start = async () => {
    for (const node of ['edge-1', 'edge-2', 'edge-3']) await cluster.startWrapper(node);
  };

  test('finds no difference if every node sees what simulate expects', async () => {
    await start();
    const { code, out } = await kpw('fleet');
    expect({ code, out }).toEqual({
      code: 0,
      out: '3 of 3 nodes see what is expected of 1 Service\n',
    });
  });

  test('uses the settings in the ConfigMap of the Pods', async () => {
    putService(cluster.server, 'plain', null);
    putSlice(cluster.server, 'plain-1', 'plain', [{ ip: '10.0.1.1', node: 'edge-1' }]);
    const raw = { defaultTopologyKeys: ['kubernetes.io/hostname'] };
    for (const node of ['edge-1', 'edge-2']) await cluster.startWrapper(node, raw);
    cluster.config = 'defaultTopologyKeys: [kubernetes.io/hostname]\n';
    expect(await kpw('fleet')).toMatchObject({ code: 0 });
    cluster.config = '{}';
    const { code, out } = await kpw('fleet', 'plain');
    expect(code).toBe(3);
    expect(out).toMatch(/^! +edge-2 +default\/plain +0\/1 NONE +1\/1 unfiltered$/m);
  });

  test('a name of a ConfigMap cannot change the path of the request', async () => {
    await start();
    cluster.configMap = '../secrets/token?x=';
    cluster.config = '{}';
    expect(await kpw('fleet')).toMatchObject({ code: 0 });
  });

  test('a difference that is gone a moment later is not reported', async () => {
    await start();
    const release = cluster.server.freezeWatches();
    cluster.server.annotate('web', 'topologyKeys', '["site"]');
    const running = kpw('fleet');
    // All nodes have been read once.
    await eventually(() => cluster.forwards.length >= 3, true);
    await eventually(() => cluster.openForwards, 0);
    release();
    expect(await running).toMatchObject({ code: 0 });
  });

  test('a node whose watches hang differs', async () => {
    await start();
    const release = cluster.server.freezeWatches();
    cluster.server.annotate('web', 'topologyKeys', '["site"]');
    const { code, out } = await kpw('fleet', 'web', '-o', 'wide');
    release();
    expect(code).toBe(3);
    expect(out).toMatch(
      /^! +edge-1 +default\/web +1\/2 hostname \(10\.0\.0\.1\) +1\/2 site \(10\.0\.0\.1\)$/m,
    );
    expect(out).toContain('1 of 3 nodes see what is expected of 1 Service');
  });

  test('a node without a wrapper is named, and a node that does not answer is a problem', async () => {
    await cluster.startWrapper('edge-1');
    await cluster.startWrapper('edge-2');
    cluster.forwardErrors.set('wrapper-edge-2', 'no route');
    const { code, out } = await kpw('fleet');
    expect(code).toBe(3);
    expect(out).toMatch(/^! edge-2: no answer: .*no route/);
    expect(out).toContain(
      'i no wrapper on 1 node: edge-3\n1 of 2 nodes see what is expected of 1 Service\n',
    );
  });
});
