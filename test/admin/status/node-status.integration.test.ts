import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { KUBE_PROXY_WRAPPER } from '../../../cli/definitions/all.ts';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { Admin } from '../../../src/admin/admin.ts';
import { KernelRules } from '../../../src/admin/status/kernel-rules.ts';
import { nodeStatus } from '../../../src/admin/status/node-status.ts';
import type { NodeStatus, StatusLine } from '../../../src/admin/status/status-line.ts';
import type { RawSettings } from '../../../src/config/settings.ts';
import { currentKubeProxyQueries } from '../../../src/proxy/api/kube-proxy-queries.ts';
import { queryPath } from '../../../src/proxy/api/query.ts';
import type { NodeProxy } from '../../../src/proxy/node-proxy.ts';
import { VERSION } from '../../../src/version.ts';
import { advancingClock } from '../../support/advancing-clock.ts';
import { closedLater } from '../../support/closed-later.ts';
import { runInProcess } from '../../support/commands/run-in-process.ts';
import { eventually } from '../../support/eventually.ts';
import { startServer, type TestServer } from '../../support/http/http-server.ts';
import type { TcpRelay } from '../../support/http/tcp-relay.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useAdmin, useCluster, useRelay, useWrapper } from '../../support/wrapper/use.ts';

let server: ApiServer;
let relay: TcpRelay;
let proxy: NodeProxy;
let admin: Admin;
/** What listens at the ClusterIP and at the backend of default/kubernetes. */
let listener: TestServer;
const watches: AbortController[] = [];
const clock = advancingClock();

beforeEach(async () => {
  server = useCluster();
  relay = await useRelay(await server.listen());
  listener = closedLater(await startServer((_, response) => void response.end()));
});

afterEach(() => {
  for (const watch of watches.splice(0)) watch.abort();
});

async function start(raw: RawSettings = {}): Promise<void> {
  proxy = await useWrapper(relay.url, {}, raw);
  admin = await useAdmin(proxy);
}

/** Watches as kube-proxy does. */
async function connect(): Promise<void> {
  for (const path of kubeProxyPaths()) {
    const watch = new AbortController();
    watches.push(watch);
    const accept = 'application/vnd.kubernetes.protobuf';
    const url = `${proxy.url}${path}&watch=true`;
    await fetch(url, { signal: watch.signal, headers: { accept } });
  }
}

/** EndpointSlices, and then Services. */
function kubeProxyPaths(): string[] {
  const queries = currentKubeProxyQueries('edge-1');
  const paths = queries.map((query) => queryPath(query));
  return ['/endpointslices', '/services'].flatMap((end) =>
    paths.filter((path) => path.split('?')[0]?.endsWith(end)),
  );
}

/** Creates default/kubernetes. @param clusterPort where its ClusterIP, 127.0.0.1, is served */
function putKubernetes(clusterPort: number, backendPort: number): void {
  const metadata = { name: 'kubernetes', namespace: 'default' };
  server.create('services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: {
      clusterIP: '127.0.0.1',
      clusterIPs: ['127.0.0.1'],
      type: 'ClusterIP',
      ports: [{ name: 'https', protocol: 'TCP', port: clusterPort }],
    },
  });
  server.create('endpointslices', {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
    ports: [{ name: 'https', protocol: 'TCP', port: backendPort }],
  });
}

async function status(): Promise<NodeStatus> {
  return (await fetch(`${admin.url}/status`)).json() as Promise<NodeStatus>;
}

function statusCommand() {
  return runInProcess(KUBE_PROXY_WRAPPER, ['status', '--admin', new URL(admin.url).host]);
}

async function lineOf(id: StatusLine['id']): Promise<StatusLine | undefined> {
  return (await status()).lines.find((line) => line.id === id);
}

const realNow = performance.now.bind(performance);

const LIVE = () => Number(listener.url.port);
const DEAD = 1;

test('a node on which all is well has one line for each question', async () => {
  putKubernetes(LIVE(), LIVE());
  await start();
  await connect();
  await eventually(async () => (await lineOf('kube-proxy'))?.state, 'ok');
  const { lines, ...about } = await status();
  expect(about).toMatchObject({
    node: 'edge-1',
    version: VERSION,
    settings: expect.stringMatching(/^[0-9a-f]{8}$/),
  });
  expect(lines.map(({ id, state }) => [id, state])).toEqual([
    ['wrapper', 'ok'],
    ['data', 'ok'],
    ['kube-proxy', 'ok'],
    ['rules', 'ok'],
    ['policies', 'ok'],
  ]);
  expect([await rulesSample(), await rulesCheck()]).toEqual(['1', undefined]);
  const { code, out } = await statusCommand();
  expect(code).toBe(0);
  expect(out).toContain('\nno problem found');
});

/** The sample of the metric about the rules; undefined: there is none. */
async function rulesSample(): Promise<string | undefined> {
  const text = await (await fetch(`${admin.url}/metrics`)).text();
  return /^kube_proxy_wrapper_kernel_rules (.*)$/m.exec(text)?.[1];
}

async function rulesCheck(): Promise<string | undefined> {
  const text = await (await fetch(`${admin.url}/readyz`)).text();
  return text.split('\n').find((line) => line.includes(']rules '));
}

// kube-proxy had 0 of 2 Services in the kernel and called itself healthy, and every command said "no problem".
test('a kernel without rules is a problem', async () => {
  putKubernetes(DEAD, LIVE());
  await start();
  expect(await rulesSample()).toBeUndefined();
  expect(await rulesCheck()).toBeUndefined();
  await connect();
  await eventually(rulesSample, '0');
  expect(await rulesCheck()).toMatch(/^\[!\]rules degraded: the kernel has no rules/);
  expect(await lineOf('rules')).toMatchObject({
    text: 'the kernel has no rules: no connection to the ClusterIP of default/kubernetes',
    next: expect.stringContaining('docs/operations-node.md'),
  });
});

test('a ClusterIP whose backends this node cannot reach shows nothing', async () => {
  putKubernetes(DEAD, DEAD);
  await start();
  await connect();
  await eventually(async () => (await lineOf('rules'))?.state, 'unknown');
  expect([await rulesSample(), await rulesCheck()]).toEqual([undefined, undefined]);
  expect((await status()).lines.filter(({ state }) => state === 'problem')).toEqual([]);
});

test('status and metrics share a probe for 10 s, and readyz never probes', async () => {
  putKubernetes(LIVE(), LIVE());
  await start();
  await connect();
  const { accepted } = listener;
  await rulesCheck();
  expect(listener.accepted).toBe(accepted);
  await eventually(rulesSample, '1');
  const probed = listener.accepted;
  await Promise.all([rulesSample(), lineOf('rules'), rulesCheck()]);
  expect(listener.accepted).toBe(probed);
});

test('without default/kubernetes the rules are not known', async () => {
  await start();
  await connect();
  await eventually(async () => (await lineOf('kube-proxy'))?.state, 'ok');
  expect(await lineOf('rules')).toMatchObject({ state: 'unknown' });
});

test('while the API server is unreachable the rules are not known, and the data is the problem', async () => {
  putKubernetes(DEAD, LIVE());
  await start();
  await connect();
  await eventually(async () => (await lineOf('rules'))?.state, 'problem');
  await relay.refuse();
  relay.cut();
  await eventually(async () => (await lineOf('data'))?.detail !== undefined, true);
  clock.advance(75_000);
  await eventually(async () => (await lineOf('data'))?.state, 'problem');
  const { lines } = await status();
  expect(lines.filter(({ state }) => state === 'problem')).toEqual([
    {
      id: 'data',
      state: 'problem',
      text: 'changes do not arrive: the API server is unreachable',
      next: expect.stringContaining('network of this node'),
      detail: expect.stringMatching(/^the data is 7\d s old/),
    },
  ]);
  expect(lines).toContainEqual({
    id: 'rules',
    state: 'unknown',
    text: 'not known while the API server is unreachable',
  });
});

test('a node whose kube-proxy is not pointed at the wrapper yet has no problem', async () => {
  await start();
  await eventually(async () => (await lineOf('wrapper'))?.state, 'ok');
  expect(await lineOf('kube-proxy')).toEqual({
    id: 'kube-proxy',
    state: 'notConnected',
    text: 'no kube-proxy has used this wrapper since it started',
    next: `point it at ${proxy.url} by the commands of docs/deployment.md`,
  });
  expect(await lineOf('rules')).toBeUndefined();
});

// During an update of the wrapper each node in turn was a problem until its kube-proxy had come back.
test('a kube-proxy that has gone is a problem after a minute, in which it may connect again', async () => {
  await start();
  await connect();
  await eventually(async () => (await lineOf('kube-proxy'))?.state, 'ok');
  const later = async () => {
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => realNow() + 61_000);
    try {
      return await lineOf('kube-proxy');
    } finally {
      clock.mockRestore();
    }
  };
  watches[1]?.abort();
  await eventually(async () => (await lineOf('kube-proxy'))?.state, 'unknown');
  expect(await lineOf('kube-proxy')).toMatchObject({
    text: 'kube-proxy connects again: Services not watched yet',
  });
  expect((await later())?.text).toBe('nobody watches Services through this wrapper');
  watches[0]?.abort();
  const text = 'nobody watches Services and EndpointSlices through this wrapper';
  await eventually(async () => (await later())?.text, text);
  expect(await later()).toMatchObject({ state: 'problem' });
});

// It was a problem, and the next step was to undo what had been done on purpose.
test('a kube-proxy that runs and was pointed back is not pointed at the wrapper', async () => {
  await start();
  await connect();
  await eventually(async () => (await lineOf('kube-proxy'))?.state, 'ok');
  for (const watch of watches.splice(0)) watch.abort();
  await eventually(async () => (await lineOf('kube-proxy'))?.state, 'unknown');
  const later = async (health: number) => {
    const ports = { health, metrics: DEAD };
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => realNow() + 61_000);
    try {
      const rules = new KernelRules(proxy, { ports });
      const { lines } = await nodeStatus(proxy, rules);
      return lines.flatMap(({ id, state }) =>
        id === 'kube-proxy' || id === 'rules' ? `${id} ${state}` : [],
      );
    } finally {
      clock.mockRestore();
    }
  };
  expect(await later(LIVE())).toEqual(['kube-proxy notConnected']);
  expect(await later(DEAD)).toEqual(['kube-proxy problem', 'rules unknown']);
});

test('a node without a Node object is a problem, and the line names the setting', async () => {
  await start({ nodeName: 'edge-9' });
  await eventually(async () => (await lineOf('wrapper'))?.state, 'problem');
  expect(await lineOf('wrapper')).toMatchObject({
    text: expect.stringContaining('there is no Node "edge-9"'),
    next: 'correct nodeName (--node-name, NODE_NAME), or register the Node',
  });
});

test('a container runtime that cannot be read is a problem, and the node remains ready', async () => {
  await start({ localRuntime: '/nowhere/cri.sock' });
  await eventually(async () => (await lineOf('localRuntime'))?.state, 'problem');
  expect(await lineOf('localRuntime')).toMatchObject({
    text: 'the container runtime cannot be read: connect ENOENT /nowhere/cri.sock',
    next: expect.stringContaining('/nowhere/cri.sock'),
  });
  await eventually(async () => (await fetch(`${admin.url}/readyz`)).status, 200);
  expect(await (await fetch(`${admin.url}/readyz`)).text()).toContain(
    '[!]local-runtime degraded: ',
  );
});

test('a state that cannot be written is a problem, and the line says so once', async () => {
  await start();
  Object.defineProperty(proxy, 'snapshots', { value: { problem: 'ENOSPC' } });
  expect(await lineOf('stateDir')).toEqual({
    id: 'stateDir',
    state: 'problem',
    text: 'the state cannot be written, so the next start may lack it',
    detail: 'ENOSPC',
    next: 'check the disk and its rights',
  });
  Object.defineProperty(proxy, 'snapshots', { value: undefined });
});

test('policies that stop ready endpoints, are invalid, contradict or are misspelt are warnings', async () => {
  const far = [{ ip: '10.0.0.3', node: 'edge-3' }];
  putService(server, 'lost', ['kubernetes.io/hostname']);
  putSlice(server, 'lost-1', 'lost', far);
  putService(server, 'sick', ['kubernetes.io/hostname']);
  putSlice(server, 'sick-1', 'sick', [{ ip: '10.0.0.1', node: 'edge-1', ready: false }, ...far]);
  putService(server, 'half', ['kubernetes.io/hostname']);
  server.patch('services', 'half', {
    spec: {
      ports: [
        { name: 'http', port: 80 },
        { name: 'more', port: 81 },
      ],
    },
  });
  putSlice(server, 'half-1', 'half', [{ ip: '10.0.0.1', node: 'edge-1' }]);
  putSlice(server, 'half-2', 'half', far);
  server.patch('endpointslices', 'half-2', { ports: [{ name: 'more', port: 81 }] });
  putService(server, 'named', ['*']);
  server.patch('services', 'named', { spec: { ports: [{ port: 80 }] } });
  putSlice(server, 'named-1', 'named', far);
  putService(server, 'moved', ['kubernetes.io/hostname']);
  server.patch('services', 'moved', { spec: { type: 'ExternalName', externalName: 'x.y' } });
  putSlice(server, 'moved-1', 'moved', far);
  putService(server, 'invalid', ['kubernetes.io/hostname']);
  server.annotate('invalid', 'topologyKeys', '[site]');
  putService(server, 'ignored', ['site']);
  server.annotate('ignored', 'topologyKey', '["site"]');
  putService(server, 'typo', ['topology.kubernetes.io/zon', '*']);
  putSlice(server, 'typo-1', 'typo', far);
  await start();
  await connect();
  await eventually(async () => (await lineOf('policies'))?.state, 'warning');
  const { lines } = await status();
  const policies = lines.filter(({ id }) => id === 'policies');
  expect(policies.map(({ state, text, detail }) => [state, text, detail])).toEqual([
    ['warning', 'a policy is invalid, so all endpoints are shown', 'default/invalid'],
    ['warning', 'a policy leaves no ready endpoint, so connections fail', 'default/sick'],
    ['warning', 'no EndpointSlice has a port of the Service, so connections fail', 'default/named'],
    [
      'warning',
      'annotations are ignored, because they are misspelt, removed or contradict another',
      'default/ignored',
    ],
    [
      'warning',
      'a topology key is probably misspelt: this node does not have the label',
      'topology.kubernetes.io/zon',
    ],
    [
      'ok',
      'a policy without * has no endpoint here, so connections fail, as it says',
      'default/half (IPv4 TCP/more), default/lost',
    ],
  ]);
  const { code, out } = await statusCommand();
  expect(code).toBe(0);
  expect(out).toMatch(/^\[warn\] policies +a policy is invalid.*\n +next: correct the annotation/m);
  expect(out).toMatch(/^no problem found, 5 warnings, /m);
});

// Its author did not want that.
test('a policy that stops traffic by a misspelt key, or one that cannot be evaluated, is a problem', async () => {
  const far = [{ ip: '10.0.0.3', node: 'edge-3' }];
  putService(server, 'typo', ['topology.kubernetes.io/zon']);
  putSlice(server, 'typo-1', 'typo', far);
  putService(server, 'blind', ['site']);
  putSlice(server, 'blind-1', 'blind', [{ ip: '10.0.0.2', node: 'edge-2' }]);
  server.refuse(({ query }) => query.get('labelSelector')?.startsWith('site') === true, 403);
  await start();
  await connect();
  await eventually(async () => (await lineOf('policies'))?.detail, 'default/blind, default/typo');
  expect(await lineOf('policies')).toMatchObject({ state: 'problem' });
  expect((await statusCommand()).code).toBe(3);
});

test('a collection that the wrapper may not read is a problem of rights', async () => {
  server.refuse(({ path }) => path.endsWith('/services'), 403);
  await start();
  await eventually(async () => (await lineOf('wrapper'))?.state, 'problem');
  expect(await lineOf('wrapper')).toMatchObject({
    text: expect.stringMatching(/^not synced yet: /),
    next: expect.stringMatching(/^grant the missing rights: see manifests/),
  });
});

test('the command prints problems with what to do, and ends with 3', async () => {
  putKubernetes(DEAD, LIVE());
  await start();
  await connect();
  await eventually(async () => (await lineOf('rules'))?.state, 'problem');
  const { code, out } = await statusCommand();
  expect(code).toBe(3);
  expect(out).toMatch(
    /^node edge-1: kube-proxy-wrapper \S+, settings [0-9a-f]{8}\n\n\[ok\] {3}wrapper +ready\n/,
  );
  expect(out).toMatch(
    /^\[FAIL\] rules +the kernel has no rules: .*\n +next: restart this kube-proxy;/m,
  );
  expect(out).toContain('\n1 problem');
});

test('equal settings have one revision on all nodes, and others another', async () => {
  await start();
  const first = (await status()).settings;
  const again = await useWrapper(relay.url, {}, { nodeName: 'edge-2' });
  const other = await useWrapper(relay.url, {}, { defaultTopologyKeys: ['*'] });
  expect([again.settingsRevision === first, other.settingsRevision === first]).toEqual([
    true,
    false,
  ]);
  await again.close();
  await other.close();
});
