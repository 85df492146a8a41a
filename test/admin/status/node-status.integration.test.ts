import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { KUBE_PROXY_WRAPPER } from '../../../cli/definitions/all.ts';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { UrlFront } from '../../../harness/network/tcp-front.ts';
import type { Admin } from '../../../src/admin/admin.ts';
import { TimeSlice } from '../../../src/admin/explain/time-slice.ts';
import { KernelRules } from '../../../src/admin/status/kernel-rules.ts';
import { nodeStatus } from '../../../src/admin/status/node-status.ts';
import type { NodeStatus, StatusLine } from '../../../src/admin/status/status-line.ts';
import { currentKubeProxyQueries } from '../../../src/client/api/kube-proxy-queries.ts';
import { queryPath } from '../../../src/client/api/query.ts';
import type { RawSettings } from '../../../src/config/settings.ts';
import { NodeReader } from '../../../src/diagnosis/reading/node-reading.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { advancingClock } from '../../support/advancing-clock.ts';
import { closedLater } from '../../support/closed-later.ts';
import { runInProcess } from '../../support/commands/run-in-process.ts';
import { transcriptOf, withoutVolatile } from '../../support/commands/transcript.ts';
import { eventually } from '../../support/eventually.ts';
import { startServer, type TestServer } from '../../support/http/http-server.ts';
import { useFastFolder } from '../../support/use-folder.ts';
import {
  putNode,
  putService,
  putSlice,
  type SmallEndpoint,
} from '../../support/wrapper/small-cluster.ts';
import { useAdmin, useCluster, useFront, useWrapper } from '../../support/wrapper/use.ts';

let server: ApiServer;
let front: UrlFront;
let proxy: NodeProxy;
let admin: Admin;
/** What listens at the ClusterIP and at the backend of default/kubernetes. */
let listener: TestServer;
/** The open watches: fetch() ends one whose response is garbage. */
const watches: { readonly end: AbortController; readonly response: Response }[] = [];
const clock = advancingClock();

beforeEach(async () => {
  server = useCluster();
  front = await useFront(await server.listen());
  listener = closedLater(await startServer((_, response) => void response.end()));
});

afterEach(() => {
  for (const { end } of watches.splice(0)) end.abort();
});

async function start(raw: RawSettings = {}): Promise<void> {
  proxy = await useWrapper(front.url, {}, raw);
  admin = await useAdmin(proxy);
}

/** Watches as kube-proxy does. */
async function connect(): Promise<void> {
  for (const path of kubeProxyPaths()) {
    const end = new AbortController();
    const accept = 'application/vnd.kubernetes.protobuf';
    const url = `${proxy.url}${path}&watch=true`;
    watches.push({ end, response: await fetch(url, { signal: end.signal, headers: { accept } }) });
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

async function lineOf(id: StatusLine['id']): Promise<StatusLine | undefined> {
  return (await status()).lines.find((line) => line.id === id);
}

const realNow = performance.now.bind(performance);

const LIVE = () => Number(listener.url.port);
const DEAD = 1;

/** The sample of the metric about the rules; undefined: there is none. */
async function rulesSample(): Promise<string | undefined> {
  const text = await (await fetch(`${admin.url}/metrics`)).text();
  return /^kube_proxy_wrapper_kernel_rules (.*)$/m.exec(text)?.[1];
}

/** What readyz says of the rules and of what is needed while the node is cut off. */
async function checks(): Promise<string> {
  const text = await (await fetch(`${admin.url}/readyz`)).text();
  return text.match(/^.*\](?:rules|local-runtime|snapshots) .*\n|^readyz .*\n/gm)?.join('') ?? '';
}

/** The kubelet sets only the labels that it knows. */
function registerAgain(labels: Record<string, string>): void {
  server.delete('nodes', 'edge-1');
  putNode(server, 'edge-1', labels);
}

function annotateFilter(value: string): void {
  const annotations = { 'kube-proxy-wrapper.io/filter': value };
  server.patch('nodes', 'edge-1', { metadata: { annotations } });
}

interface Scene {
  readonly rule: string;
  readonly raw?: RawSettings;
  readonly arrange?: () => void;
  /** Whether a kube-proxy watches; default: it does. */
  readonly connects?: false;
  /** After the start. */
  readonly afterwards?: () => void;
  /** The line that comes, and its state. */
  readonly until: readonly [id: StatusLine['id'], state: StatusLine['state']];
}

const FAR: SmallEndpoint[] = [{ ip: '10.0.0.3', node: 'edge-3' }];

test.each<Scene>([
  {
    rule: 'a node on which all is well has one line for each question',
    arrange: () => putKubernetes(LIVE(), LIVE()),
    until: ['rules', 'ok'],
  },
  {
    // kube-proxy had 0 of 2 Services in the kernel and called itself healthy, and every command said "no problem".
    rule: 'a kernel without rules is a problem',
    arrange: () => putKubernetes(DEAD, LIVE()),
    until: ['rules', 'problem'],
  },
  {
    rule: 'a ClusterIP whose backends this node cannot reach shows nothing',
    arrange: () => putKubernetes(DEAD, DEAD),
    until: ['rules', 'unknown'],
  },
  { rule: 'without default/kubernetes the rules are not known', until: ['rules', 'unknown'] },
  {
    rule: 'a node whose kube-proxy is not pointed at the wrapper yet has no problem',
    connects: false,
    until: ['wrapper', 'ok'],
  },
  {
    rule: 'a node without a Node object is a problem, and the line names the setting',
    raw: { nodeName: 'edge-9' },
    connects: false,
    until: ['wrapper', 'problem'],
  },
  {
    rule: 'a container runtime that cannot be read is a problem, and the node remains ready',
    raw: { localRuntime: '/nowhere/cri.sock' },
    until: ['localRuntime', 'problem'],
  },
  {
    rule: 'a state that cannot be written is a problem, and the line says so once',
    afterwards: () => Object.defineProperty(proxy, 'snapshots', { value: { problem: 'ENOSPC' } }),
    until: ['stateDir', 'problem'],
  },
  {
    // Its author did not want that.
    rule: 'a policy that stops traffic by a misspelt key, or one that cannot be evaluated, is a problem',
    arrange() {
      putService(server, 'typo', ['topology.kubernetes.io/zon']);
      putSlice(server, 'typo-1', 'typo', FAR);
      putService(server, 'blind', ['site']);
      putSlice(server, 'blind-1', 'blind', [{ ip: '10.0.0.2', node: 'edge-2' }]);
      server.refuse(({ query }) => query.get('labelSelector')?.startsWith('site') === true, 403);
    },
    until: ['policies', 'problem'],
  },
  {
    // One tenant could make every node a problem.
    rule: 'a policy whose node set has no room is a warning, and the node is well',
    raw: { maxNodeSets: 1 },
    arrange() {
      server.patch('nodes', 'edge-1', { metadata: { labels: { site: 'a', rack: 'r' } } });
      putService(server, 'greedy', ['site', 'rack']);
      putSlice(server, 'greedy-1', 'greedy', FAR);
    },
    until: ['policies', 'warning'],
  },
  {
    // Traffic left the site at once, and status said that all was well.
    rule: 'a Node that was registered again without labels that Services use is a problem, and the line has what it had',
    arrange() {
      putService(server, 'near', ['site', '*']);
      putSlice(server, 'near-1', 'near', FAR);
      putService(server, 'only', ['site']);
      putSlice(server, 'only-1', 'only', [{ ip: '10.0.0.2', node: 'edge-2' }]);
    },
    afterwards: () => registerAgain({}),
    until: ['policies', 'problem'],
  },
  {
    // It said [ok], and nobody remembered the switch.
    rule: 'a node whose filter is switched off has a warning',
    afterwards: () => annotateFilter('off'),
    until: ['policies', 'warning'],
  },
  {
    rule: 'a value of the annotation of the Node that means nothing has a warning',
    afterwards: () => annotateFilter('dry-run'),
    until: ['policies', 'warning'],
  },
  {
    rule: 'rights that were taken away are one problem, whatever collections they concern',
    afterwards() {
      server.refuse(() => true, 403);
      server.cutWatches();
      clock.advance(11_000);
    },
    until: ['wrapper', 'problem'],
  },
  {
    // The lines named the node set of a zone, one of 7 collections, and the log.
    rule: 'credentials that the API server refuses are named, and what to do',
    afterwards() {
      server.refuse(() => true, 401);
      server.cutWatches();
      clock.advance(11_000);
    },
    until: ['wrapper', 'problem'],
  },
  {
    rule: 'credentials that the API server refuses from the start are named',
    arrange: () => void server.refuse(() => true, 401),
    connects: false,
    until: ['wrapper', 'problem'],
  },
  {
    rule: 'a collection that the wrapper may not read is a problem of rights',
    arrange: () => void server.refuse(({ path }) => path.endsWith('/services'), 403),
    connects: false,
    until: ['wrapper', 'problem'],
  },
])('$rule', async ({ raw, arrange, connects = true, afterwards, until: [id, state] }) => {
  arrange?.();
  await start(raw);
  if (connects) {
    await connect();
    await eventually(async () => (await lineOf('kube-proxy'))?.state, 'ok');
    await eventually(async () => (await lineOf('policies'))?.state === 'unknown', false);
  }
  afterwards?.();
  await eventually(async () => (await lineOf(id))?.state, state);
  const { node, lines } = await status();
  // 30 nodes share a line only if its text is the same on all.
  expect(lines.filter(({ text }) => text.includes(node))).toEqual([]);
  const [live, listen] = [listener.url.host, new URL(proxy.url).host];
  const places = { ADMIN: new URL(admin.url).host, KUBERNETES: live, LISTEN: listen };
  const printed = await transcriptOf(KUBE_PROXY_WRAPPER, 'status --admin ADMIN', places);
  const rules = `kernel_rules: ${(await rulesSample()) ?? 'no sample'}\n`;
  expect(printed + rules + withoutVolatile(await checks(), places)).toMatchSnapshot();
  Object.defineProperty(proxy, 'snapshots', { value: undefined });
});

test('a Service that fails as its policy says, for want of a label, is a note, and the node is well', async () => {
  putService(server, 'only', ['site']);
  putSlice(server, 'only-1', 'only', [{ ip: '10.0.0.2', node: 'edge-2' }]);
  await start();
  await connect();
  await eventually(async () => (await lineOf('policies'))?.text, 'no problem found');
  server.patch('nodes', 'edge-1', { metadata: { labels: { site: null } } });
  await eventually(async () => (await lineOf('policies'))?.state, 'note');
  const { out, code } = await runInProcess(KUBE_PROXY_WRAPPER, [
    'status',
    '--admin',
    new URL(admin.url).host,
  ]);
  expect(out).toMatch(
    /^\[note\] policies +Services fail .*, as their policies say.*default\/only/m,
  );
  expect(out).toMatch(/^ +next: see kube-proxy-wrapper explain default\/only$/m);
  expect(code).toBe(0);
});

// kubectl kpw said that the node does not answer, and not that its nodeName is wrong.
test('the first status of a wrapper whose views cannot start comes before kubectl kpw gives up', async () => {
  await start({ nodeName: 'edge-9' });
  const response = await fetch(`${admin.url}/status`, { signal: AbortSignal.timeout(5_000) });
  expect(((await response.json()) as NodeStatus).lines).toContainEqual(
    expect.objectContaining({ id: 'wrapper', detail: 'edge-9' }),
  );
});

// The snapshot of the Node shrinks when it is deleted, and Pod GC then deletes the wrapper's Pod.
test.each([
  {
    deleted: 'while no wrapper ran',
    async endAndDelete() {
      await proxy.close();
      server.delete('nodes', 'edge-1');
    },
  },
  {
    deleted: 'before its wrapper ended',
    async endAndDelete() {
      server.delete('nodes', 'edge-1');
      await eventually(() => proxy.views.ownNodeExists, false);
      await proxy.close();
    },
  },
])(
  'a Node that was deleted $deleted, and registered again, is compared with that of stateDir',
  async ({ endAndDelete }) => {
    const stateDir = useFastFolder();
    putService(server, 'near', ['site', '*']);
    await start({ stateDir });
    await connect();
    await eventually(async () => (await lineOf('policies'))?.state, 'ok');
    for (const { end } of watches.splice(0)) end.abort();
    await endAndDelete();
    putNode(server, 'edge-1', { rack: 'r' });
    await start({ stateDir });
    await connect();
    await eventually(async () => (await lineOf('policies'))?.state, 'problem');
    expect(await lineOf('policies')).toMatchObject({
      text: 'this node lacks a label that its last Node had: site',
      detail: 'site=a, 1 Service: default/near',
    });
    server.label('edge-1', 'site', 'a');
    await eventually(async () => (await lineOf('policies'))?.state, 'ok');
  },
);

test('status and metrics share a probe for 10 s, and readyz never probes', async () => {
  putKubernetes(LIVE(), LIVE());
  await start();
  await connect();
  const { accepted } = listener;
  await checks();
  expect(listener.accepted).toBe(accepted);
  await eventually(rulesSample, '1');
  const probed = listener.accepted;
  await Promise.all([rulesSample(), lineOf('rules'), checks()]);
  expect(listener.accepted).toBe(probed);
});

test('while the API server is unreachable the rules are not known, and the data is the problem', async () => {
  putKubernetes(DEAD, LIVE());
  await start();
  await connect();
  await eventually(async () => (await lineOf('rules'))?.state, 'problem');
  await front.begin({ kind: 'refuse' });
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

// Tried with kube-proxy 1.36.3, whose --hostname-override was not the name of its Node: it waits, and writes no rules.
test('a kube-proxy that waits for a Node of another name is a problem', async () => {
  await start();
  const later = (ms: number) => {
    jest.spyOn(performance, 'now').mockImplementation(() => realNow() + ms);
    return lineOf('kube-proxy').finally(() => jest.restoreAllMocks());
  };
  const read = (end: string, accept: string) =>
    fetch(`${proxy.url}/api/v1/nodes${end}`, { headers: { accept } });
  const protobuf = 'application/vnd.kubernetes.protobuf,application/json';
  await read('/host-1.example', 'application/json');
  await read('?fieldSelector=metadata.name=<b>', protobuf);
  await read('?fieldSelector=metadata.name!=edge-1', protobuf);
  await read('', protobuf);
  expect(await lineOf('kube-proxy')).toMatchObject({ state: 'notConnected' });
  for (const end of ['/host-1.example', '?fieldSelector=metadata.name=host-1.example&watch=true']) {
    expect((await read(end, protobuf)).status).toBe(403);
    expect(await later(0)).toMatchObject({
      state: 'problem',
      text: 'a kube-proxy waits for a Node of another name than this one, and writes no rules',
      detail: 'it reads host-1.example, and this node is edge-1',
      next: expect.stringContaining('--hostname-override'),
    });
    expect(await later(61_000)).toMatchObject({ state: 'notConnected' });
  }
  await connect();
  await eventually(async () => (await lineOf('kube-proxy'))?.state, 'ok');
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
  watches[1]?.end.abort();
  await eventually(async () => (await lineOf('kube-proxy'))?.state, 'unknown');
  expect(await lineOf('kube-proxy')).toMatchObject({
    text: 'kube-proxy connects again: Services not watched yet',
  });
  expect((await later())?.text).toBe('nobody watches Services through this wrapper');
  watches[0]?.end.abort();
  const text = 'nobody watches Services and EndpointSlices through this wrapper';
  await eventually(async () => (await later())?.text, text);
  expect(await later()).toMatchObject({ state: 'problem' });
});

// It was a problem, and the next step was to undo what had been done on purpose.
test('a kube-proxy that runs and was pointed back is not pointed at the wrapper', async () => {
  await start();
  await connect();
  await eventually(async () => (await lineOf('kube-proxy'))?.state, 'ok');
  for (const { end } of watches.splice(0)) end.abort();
  await eventually(async () => (await lineOf('kube-proxy'))?.state, 'unknown');
  const later = async (health: number) => {
    const ports = { health, metrics: DEAD };
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => realNow() + 61_000);
    try {
      const reader = new NodeReader(proxy);
      const rules = new KernelRules(reader, { ports });
      const { lines } = await nodeStatus(
        reader,
        rules,
        new TimeSlice(new AbortController().signal),
      );
      return lines.flatMap(({ id, state, text }) =>
        id === 'kube-proxy' || id === 'rules' ? [[id, state, text].join(' ')] : [],
      );
    } finally {
      clock.mockRestore();
    }
  };
  expect(await later(LIVE())).toEqual([
    'kube-proxy notConnected kube-proxy runs, and no longer uses this wrapper',
  ]);
  expect(await later(DEAD)).toEqual([
    'kube-proxy problem nobody watches Services and EndpointSlices through this wrapper',
    'rules unknown the ClusterIP of default/kubernetes is not known',
  ]);
});

// kube-proxy says it without any right. Its own warning is one line of its log, at its start.
test.each([
  ['ipvs', ['kube-proxy ok', 'kube-proxy warning']],
  ['iptables', ['kube-proxy ok']],
  ['nftables', ['kube-proxy ok']],
])(
  'a kube-proxy in %s mode is remarked only if a coming release ends the mode',
  async (mode, wanted) => {
    const kubeProxy = await startServer(({ url }, response) => {
      response.end(url === '/proxyMode' ? mode : '');
    });
    closedLater(kubeProxy);
    await start();
    await connect();
    await eventually(async () => (await lineOf('kube-proxy'))?.state, 'ok');
    const port = Number(kubeProxy.url.port);
    const reader = new NodeReader(proxy);
    const rules = new KernelRules(reader, { ports: { health: port, metrics: port } });
    const { lines } = await nodeStatus(reader, rules, new TimeSlice(new AbortController().signal));
    const found = lines.filter(({ id }) => id === 'kube-proxy');
    expect(found.map(({ id, state }) => `${id} ${state}`)).toEqual(wanted);
    for (const { text, next } of found.slice(1)) {
      expect(text).toBe(
        'kube-proxy is in IPVS mode, which Kubernetes 1.40 switches off and 1.43 removes',
      );
      expect(next).toContain('docs/ipvs.md');
    }
  },
);
