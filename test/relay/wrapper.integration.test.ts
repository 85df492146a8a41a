import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { type ServingFiles, writeServingFiles } from '../../harness/certificates.ts';
import { freePorts } from '../../harness/network/free-port.ts';
import { TimeSlice } from '../../src/admin/explain/time-slice.ts';
import { KernelRules } from '../../src/admin/status/kernel-rules.ts';
import { nodeStatus } from '../../src/admin/status/node-status.ts';
import { ownListeners } from '../../src/client/system/proc-net-tcp.ts';
import { NodeReader } from '../../src/diagnosis/reading/node-reading.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { listeningSockets } from '../support/http/listening-sockets.ts';
import { recordingLogger } from '../support/recording-logger.ts';
import { ask, behind, credentialsFor, useRelayOf } from '../support/relay/relay-fixture.ts';
import { useFolder } from '../support/use-folder.ts';
import { putService, putSlice, rejectFieldSelectors } from '../support/wrapper/small-cluster.ts';
import { useCluster, useWrapper } from '../support/wrapper/use.ts';

const SLICES =
  '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=%21service.kubernetes.io%2Fheadless';
/** The preferred server is tried again after this time, in milliseconds. */
const returnMs = 1_000;

const { listen } = listeningSockets();
let cluster: ApiServer;
let api: string;
let files: ServingFiles;

beforeEach(async () => {
  cluster = useCluster({ bookmarkIntervalMs: 100 });
  putService(cluster, 'web', ['site']);
  putSlices(2);
  api = await cluster.listen();
  files = await writeServingFiles(useFolder());
});

/** Changes the last octet of what edge-2 (site a) and edge-3 (site b) have. */
function putSlices(last: number): void {
  putSlice(cluster, 'web-a', 'web', [
    { ip: `10.0.2.${last}`, node: 'edge-2' },
    { ip: `10.0.3.${last}`, node: 'edge-3' },
  ]);
}

async function shown(node: NodeProxy): Promise<string[]> {
  const { items = [] } = (await (await fetch(node.url + SLICES)).json()) as {
    items?: { endpoints: { addresses: string[] }[] }[];
  };
  return items.flatMap(({ endpoints }) => endpoints.flatMap(({ addresses }) => addresses));
}

/** How many whole lists a wrapper has requested. */
const listsOf = ({ views }: NodeProxy): number =>
  views.sources.reduce((sum, { status }) => sum + status.lists, 0);

/** Watches of relays: they have a token. */
const relayed = (): number =>
  cluster.openWatches().filter(({ request }) => request.headers.authorization !== undefined).length;

async function useNode(...relays: Parameters<typeof behind>[2][]): Promise<NodeProxy> {
  const node = await useWrapper(api, { ...behind(api, files, ...relays), returnMs });
  await eventually(() => shown(node), ['10.0.2.2']);
  return node;
}

async function statusOf(node: NodeProxy) {
  const slice = new TimeSlice(new AbortController().signal);
  const reader = new NodeReader(node);
  return (await nodeStatus(reader, new KernelRules(reader), slice)).lines;
}

const warnings = async (node: NodeProxy) =>
  (await statusOf(node)).filter(({ state }) => state === 'warning').map(({ text }) => text);

test('a wrapper behind a relay decides as without, and costs the API server nothing', async () => {
  const relay = await useRelayOf(api, files);
  const [direct, first] = [await useWrapper(api), await useNode(relay)];
  await eventually(() => shown(direct), ['10.0.2.2']);
  // Services, the own Node, those in the site, and slices for the wrapper and for this test, which reads JSON.
  await eventually(relayed, 5);
  const nodes = [first, await useNode(relay), await useNode(relay)];
  await eventually(() => relay.listeners.watches, 12);
  expect(relayed()).toBe(5);
  for (const site of ['b', 'a'] as const) {
    cluster.label('edge-1', 'site', site);
    putSlices(site === 'a' ? 7 : 6);
    for (const node of [direct, ...nodes]) {
      await eventually(() => shown(node), [site === 'a' ? '10.0.2.7' : '10.0.3.6']);
    }
  }
  const lines = await statusOf(first);
  expect(lines.find(({ id }) => id === 'data')?.detail).toContain('from the relay 127.0.0.1:');
});

test('when a relay dies its wrappers watch on at the API server, and return, without a list', async () => {
  const [port] = await freePorts(1);
  const relay = await useRelayOf(api, files, {}, port);
  const node = await useNode(relay);
  const before = listsOf(node);
  await relay.close();
  putSlices(3);
  await eventually(() => shown(node), ['10.0.2.3']);
  expect(node.upstream.address).toBe(new URL(api).host);
  expect(listsOf(node)).toBe(before);
  // Their bookmarks bring all of them to the version that the next relay begins at.
  await eventually(() => cluster.openWatches().length, 4);
  const next = await useRelayOf(api, files, {}, port);
  await eventually(() => next.views.problem, undefined);
  await eventually(() => node.upstream.address, `127.0.0.1:${port}`);
  await eventually(() => next.listeners.watches > 3, true);
  putSlices(4);
  await eventually(() => shown(node), ['10.0.2.4']);
  expect(listsOf(node)).toBe(before);
});

// Its probes share a port with those of the one before, so an orchestrator stops that one soon.
test('the next relay on a port listens when it can answer', async () => {
  const [port = 0] = await freePorts(1);
  await listen('127.0.0.1', port);
  const lists = ({ path }: { readonly path: string }): boolean => path.endsWith('/endpointslices');
  const release = cluster.hold(lists);
  const starting = useRelayOf(api, files, {}, port);
  await eventually(() => cluster.requests.some(lists), true);
  const address = { host: '127.0.0.1', port };
  const early = await Promise.race([starting, delay(300)]);
  expect([early, ownListeners(address).length]).toEqual([undefined, 1]);
  release();
  const next = await starting;
  expect([next.views.problem, ownListeners(address).length]).toEqual([undefined, 2]);
});

test.each<[string, () => Promise<string>]>([
  ['refuses connections', async () => `http://127.0.0.1:${(await freePorts(1))[0]}`],
  [
    'forbids its lists',
    async () => {
      cluster.refuse(({ path }) => path.endsWith('/endpointslices'), 403);
      return api;
    },
  ],
])('the next relay on a port does not listen while the API server %s', async (_, server) => {
  const [port = 0] = await freePorts(1);
  const address = { host: '127.0.0.1', port };
  await listen(address.host, port);
  const stop = new AbortController();
  const { logger, lines } = recordingLogger();
  const options = { logger, signal: stop.signal };
  const starting = useRelayOf(await server(), files, options, port);
  const outcome = expect(starting).rejects.toThrow('stop');
  await eventually(() => lines.some(({ msg }) => msg.includes('still listens here')), true);
  // It has had several attempts by then.
  await delay(2_000);
  expect(ownListeners(address)).toHaveLength(1);
  stop.abort(new Error('stop'));
  await outcome;
});

test('watches of a relay that is replaced go on at the next one, however old their last bookmark is', async () => {
  const other = useCluster({ bookmarkIntervalMs: 3_600_000 });
  putService(other, 'web', ['site']);
  putSlice(other, 'web-a', 'web', [{ ip: '10.0.2.2', node: 'edge-2' }]);
  const server = await other.listen();
  const [port] = await freePorts(1);
  const relay = await useRelayOf(server, files);
  const servers = [new URL(relay.url), new URL(`https://127.0.0.1:${port}`)];
  const options = {
    credentials: credentialsFor(server),
    relays: { servers, caFile: files.caFile },
  };
  const node = await useWrapper(server, options);
  await eventually(() => shown(node), ['10.0.2.2']);
  const before = listsOf(node);
  other.label('edge-3', 'moved', 'on');
  const next = await useRelayOf(server, files, {}, port);
  await eventually(() => next.views.problem, undefined);
  // As its views are when nodes read from it.
  await ask(`${next.url}${SLICES}&resourceVersion=0`);
  await relay.close();
  await eventually(() => next.listeners.watches > 3, true);
  putSlice(other, 'web-a', 'web', [{ ip: '10.0.2.3', node: 'edge-2' }]);
  await eventually(() => shown(node), ['10.0.2.3']);
  expect(listsOf(node)).toBe(before);
});

test.each([
  ['the API server rejects', '/api/v1/services?labelSelector=%3D%3D%3D', 400],
  ['the relay has no room for', '/api/v1/services', 503],
])('a query of another client that %s costs the node no relay', async (_, path, status) => {
  cluster.annotate('default/web', 'large', 'x'.repeat(200_000));
  const relay = await useRelayOf(api, files, { maxViewBytes: 200_000 });
  const options = { ...behind(api, files, relay), defaultViewsMs: 0, readyWaitMs: 500 };
  const node = await useWrapper(api, options);
  await eventually(() => relay.listeners.watches > 2, true);
  const inUse = node.upstream.address;
  expect(inUse).toBe(new URL(relay.url).host);
  expect((await fetch(node.url + path)).status).toBe(status);
  await fetch(node.url + path);
  expect([node.upstream.address, node.upstream.failover.switches]).toEqual([inUse, 0]);
});

test('a relay is ready although its API server cannot select Services by their address', async () => {
  rejectFieldSelectors(cluster);
  const relay = await useRelayOf(api, files);
  await eventually(() => relay.views.problem, undefined);
  expect(relay.views.queries.map(({ fieldSelector }) => fieldSelector)).toEqual(['', '']);
});

test('a relay keeps the query for Services that something has answered with 404 for a while', async () => {
  const isForServices = ({ path }: { readonly path: string }) => path === '/api/v1/services';
  const answerAgain = cluster.refuse(isForServices, 404);
  const relay = await useRelayOf(api, files);
  // It looks once a second.
  await eventually(() => cluster.requests.filter(isForServices).length > 1, true);
  answerAgain();
  await eventually(() => relay.views.problem, undefined);
  const [, services] = relay.views.queries;
  expect(services?.fieldSelector).toBe('spec.clusterIP!=None');
});

test('a relay that is stopped before one of its views is complete ends the watches of the others', async () => {
  const relay = await useRelayOf(api, files);
  await useNode(relay);
  await eventually(() => relay.listeners.watches > 3, true);
  const isSlow = ({ path }: { readonly path: string }) => path.endsWith('/servicecidrs');
  cluster.hold(isSlow);
  const path = '/apis/networking.k8s.io/v1/servicecidrs?resourceVersion=0';
  const slow = Promise.allSettled([ask(relay.url + path)]);
  await eventually(() => cluster.requests.some(isSlow), true);
  await relay.close();
  await slow;
  expect(relay.listeners.watches).toBe(0);
});

// Its Secret is mounted on each node: without it a node that rebooted had no wrapper, and so no rules.
test.each(['is missing', 'names another authority'])(
  'a wrapper whose file of the authority %s starts, and uses the relay once the file is right',
  async (state) => {
    const relay = await useRelayOf(api, files);
    const caFile = join(useFolder(), 'ca.crt');
    const isMissing = state === 'is missing';
    if (!isMissing) copyFileSync((await writeServingFiles(useFolder())).caFile, caFile);
    const relays = { servers: [new URL(relay.url)], caFile };
    const { logger, lines } = recordingLogger();
    const node = await useWrapper(api, { ...behind(api, files), relays, returnMs: 100, logger });
    await eventually(() => shown(node), ['10.0.2.2']);
    expect(node.upstream.address).toBe(new URL(api).host);
    // It was tried again, too.
    await delay(500);
    expect(node.upstream.failover.switches).toBe(isMissing ? 0 : 1);
    expect(await warnings(node)).toEqual([
      expect.stringContaining(isMissing ? 'no relay is used' : 'although there is a relay'),
    ]);
    const warned = lines.filter(({ level }) => level >= 40);
    expect(warned.map(({ msg, err }) => `${msg} ${err}`)).toEqual([
      expect.stringMatching(
        isMissing ? /^no relay is used: / : /relay .*signed by another authority/,
      ),
    ]);
    copyFileSync(files.caFile, caFile);
    await eventually(() => node.upstream.address, new URL(relay.url).host);
    expect(await warnings(node)).toEqual([]);
    expect(lines.filter(({ msg }) => /unreachable|answers again|system-ca/.test(msg))).toEqual([]);
  },
);

test('a relay that has lost the API server gives its wrappers up, and these go on', async () => {
  const lost = await useCluster();
  const other = await lost.listen();
  const relay = await useRelayOf(other, files, { silenceMs: 200 });
  const node = await useWrapper(api, { ...behind(api, files, relay), returnMs: 60_000 });
  await eventually(() => node.upstream.address, new URL(relay.url).host);
  await lost.close();
  await eventually(() => node.upstream.address, new URL(api).host);
  await eventually(() => shown(node), ['10.0.2.2']);
});

// It asked for the newest state, which a relay refuses, so that all its watches left the relay once a minute.
test('a node stays with its relay although a collection does not exist', async () => {
  cluster.refuse(({ path }) => path.includes('communities'), 404);
  const relay = await useRelayOf(api, files);
  const options = { ...behind(api, files, relay), returnMs: 200 };
  const node = await useWrapper(api, options, { communities: { fabedgeCluster: 'beijing' } });
  const isAbsent = ({ path }: { readonly path: string }) => path.includes('communities');
  await eventually(() => cluster.requests.filter(isAbsent).length > 3, true);
  expect(node.upstream.failover.switches).toBe(0);
});
