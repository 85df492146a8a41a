import { createServer } from 'node:net';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import {
  currentKubeProxyQueries,
  kubeProxyQueries,
} from '../../../src/client/api/kube-proxy-queries.ts';
import { type Query, queryPath } from '../../../src/client/api/query.ts';
import type { Check } from '../../../src/diagnosis/reading/readiness.ts';
import { ENDPOINTS } from '../../../src/filter/objects/resource.ts';
import { waitUntilReadyToListen } from '../../../src/server/hot-restart/hot-restart.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { checksOf, metricsOf, PATHS, problemsOf } from '../../support/wrapper/state-fixture.ts';
import { useCluster, useWrapper } from '../../support/wrapper/use.ts';

/*
 * Any local process could keep /readyz red: a query that the API server refuses with 400 was repeated without end. Its
 * view was never complete, and remained open for five minutes after its client had left.
 */
const BAD = '/api/v1/services?fieldSelector=foo%3Dbar';
const CIDRS = PATHS.cidrs;

let server: ApiServer;
let upstream: string;
let proxy: NodeProxy;

beforeEach(async () => {
  server = useCluster({ tls: undefined });
  upstream = await server.listen();
  await start();
});

async function start(options: Partial<NodeProxyOptions> = {}): Promise<void> {
  proxy = await useWrapper(upstream, options);
  await eventually(() => proxy.views.ownNodeExists, true);
  await eventually(() => problemsOf(proxy), []);
}

async function restart(options: Partial<NodeProxyOptions>): Promise<void> {
  await proxy.close();
  await start(options);
}

async function get(url: string, path: string, signal?: AbortSignal) {
  const headers = { accept: 'application/json' };
  const response = await fetch(url + path, { headers, ...(signal && { signal }) });
  const { code, reason, message } = (await response.json()) as Record<string, unknown>;
  const retryAfter = response.headers.get('retry-after');
  return { http: response.status, status: { code, reason, message }, retryAfter };
}

/** Refuses the path from now on; returns how to lift it. */
const refuse = (path: string, code: number) =>
  server.refuse((request) => request.path === path, code);

const checkOf = (part: string): Check | undefined =>
  checksOf(proxy).find(({ name }) => name.includes(part));

/** Waits until the node is not ready because of this status. */
const eventuallyUnready = (code: number) =>
  eventually(() => new RegExp(`\\b${code}\\b`).test(problemsOf(proxy).join()), true);

const collections = () => proxy.views.sources.map(({ query }) => query.resource.plural);

test('a client with a query that the API server refuses gets its Status without waiting, each time', async () => {
  const given = await get(upstream, BAD);
  expect(given.http).toBe(400);
  const began = performance.now();
  for (const answer of await Promise.all([get(proxy.url, BAD), get(proxy.url, BAD)])) {
    expect(answer).toEqual(given);
  }
  expect(await get(proxy.url, BAD)).toEqual(given);
  expect(performance.now() - began).toBeLessThan(10_000);
});

test('a refused query is reported, but the node remains ready, no alert fires, and the view is closed soon', async () => {
  await get(proxy.url, BAD);
  expect(problemsOf(proxy)).toEqual([]);
  expect(checkOf('foo%3Dbar')?.remark).toMatch(/the API server refuses the query: .*400/);
  const text = await metricsOf(proxy);
  expect(text).toMatch(/view_refused\{[^}]*services"[^}]*\} 1/);
  expect(text).not.toMatch(/view_started\{[^}]*services"/);
  await eventually(collections, ['nodes']);
});

test('a view that is refused after its clients have left is closed soon too', async () => {
  const release = server.hold(({ path }) => path === '/api/v1/services');
  await expect(get(proxy.url, BAD, AbortSignal.timeout(200))).rejects.toThrow('timeout');
  await eventually(() => proxy.views.sources.map((source) => proxy.views.users(source)), [0, 0]);
  release();
  await eventually(collections, ['nodes']);
});

describe('a first list that is answered', () => {
  test.each([400, 404, 422])('%d, makes the query unanswerable until it succeeds', async (code) => {
    const lift = refuse(CIDRS, code);
    const answer = await get(proxy.url, CIDRS);
    expect(answer).toMatchObject({ http: code, status: { code }, retryAfter: null });
    expect(problemsOf(proxy)).toEqual([]);
    lift();
    await eventually(async () => (await get(proxy.url, CIDRS)).http, 200);
    expect(checkOf('servicecidrs')?.remark).toBeUndefined();
  });

  test.each([401, 403, 409, 429, 503])('%d, leaves the query pending', async (code) => {
    await restart({ readyWaitMs: 300 });
    refuse(CIDRS, code);
    expect(await get(proxy.url, CIDRS)).toMatchObject({ http: 503, retryAfter: '1' });
    // On a busy machine the wait may be over before the API server has answered at all.
    await eventuallyUnready(code);
    expect(await metricsOf(proxy)).toMatch(/view_started\{.*servicecidrs.*\} 0/);
  });
});

test('a request while the API server is unreachable waits again: an earlier refusal may be outdated', async () => {
  await restart({ readyWaitMs: 3_000 });
  const lift = refuse(CIDRS, 404);
  expect((await get(proxy.url, CIDRS)).http).toBe(404);
  refuse(CIDRS, 503);
  lift();
  await eventually(async () => (await get(proxy.url, CIDRS)).http, 503);
  await eventuallyUnready(503);
});

test('a view that was complete is served unchanged when it is refused later', async () => {
  expect((await get(proxy.url, CIDRS)).http).toBe(200);
  refuse(CIDRS, 404);
  server.compact('status');
  server.cutWatches();
  const cidrs = () =>
    proxy.views.sources.find(({ view }) => view.resource.plural === 'servicecidrs');
  await eventually(() => cidrs()?.status.error?.status?.code, 404);
  expect((await get(proxy.url, CIDRS)).http).toBe(200);
  expect(checkOf('servicecidrs')?.remark).toBeUndefined();
  expect(await metricsOf(proxy)).toMatch(/view_refused\{.*servicecidrs.*\} 0/);
});

// Its view remains open for explanations, but not at the expense of the node's readiness.
test('a refused query of kube-proxy leaves the node ready, and its view is closed soon too', async () => {
  refuse('/api/v1/endpoints', 404);
  const [query] = kubeProxyQueries('edge-1').filter(({ resource }) => resource === ENDPOINTS);
  const headers = { accept: 'application/vnd.kubernetes.protobuf' };
  const response = await fetch(proxy.url + queryPath(query as Query), { headers });
  expect(response.status).toBe(404);
  await eventually(() => problemsOf(proxy), []);
  await eventually(collections, ['nodes', 'services']);
});

test('a refused query that the topology needs makes the node unready', async () => {
  refuse('/api/v1/services', 400);
  expect((await get(proxy.url, PATHS.services)).http).toBe(400);
  const response = await fetch(proxy.url + PATHS.services, {
    headers: { accept: 'application/vnd.kubernetes.protobuf' },
  });
  expect(response.status).toBe(400);
  expect(problemsOf(proxy).join()).toContain('400');
  expect(await metricsOf(proxy)).toMatch(/view_started\{.*services.*protobuf.*\} 0/);
});

test('a process that takes over does not wait for a refused view', async () => {
  refuse(CIDRS, 404);
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  const ended = waitUntilReadyToListen({
    addresses: [{ host: '127.0.0.1', port }],
    queries: currentKubeProxyQueries('edge-1').filter(
      ({ resource }) => resource.plural === 'servicecidrs',
    ),
    isNeeded: () => true,
    acquire: (query) => proxy.views.acquire(query),
    signal: new AbortController().signal,
    logger: pino({ level: 'silent' }),
  }).finally(() => other.close());
  // Not before the other one ends, and that does not.
  await expect(ended).resolves.toBeUndefined();
});
