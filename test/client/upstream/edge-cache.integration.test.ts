import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { CachedObject } from '../../../harness/edge-cache/cached-object.ts';
import { EdgeCache, type EdgeCacheOptions } from '../../../harness/edge-cache/edge-cache.ts';
import type { UrlFront } from '../../../harness/network/tcp-front.ts';
import { STREAMING_LIST } from '../../../harness/streaming-list.ts';
import { CODECS } from '../../../src/client/api/codecs.ts';
import { MEDIA_TYPES } from '../../../src/client/api/media-type.ts';
import { readHealth } from '../../../src/diagnosis/reading/health.ts';
import { ENDPOINT_SLICES } from '../../../src/filter/objects/resource.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/server/node-proxy.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { PATHS, problemsOf, useState } from '../../support/wrapper/state-fixture.ts';
import { useCluster, useFront, useWatch, useWrapper } from '../../support/wrapper/use.ts';

/*
 * A wrapper behind a cache of an edge platform, such as KubeEdge's MetaServer: it speaks JSON only. 1.2.0 asked for
 * protobuf and got 406.
 */
let server: ApiServer;
let apiServer: string;
let cache: EdgeCache;
let proxy: NodeProxy;

beforeEach(async () => {
  server = useCluster({ tls: undefined });
  putService(server, 'web', ['site']);
  putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.1', node: 'edge-2' }]);
  putSlice(server, 'web-b', 'web', [{ ip: '10.0.0.2', node: 'edge-3' }]);
  // The version of a list is newer than that of each object in it.
  server.label('edge-3', 'unrelated', 'x');
  apiServer = await server.listen();
});

async function startBehindCache(
  more: Partial<EdgeCacheOptions> = {},
  options: Partial<NodeProxyOptions> = {},
): Promise<string> {
  cache = closedLater(new EdgeCache({ upstream: apiServer, ...more }));
  const url = await cache.listen();
  proxy = await useWrapper(url, options);
  return url;
}

/** As a kube-proxy. */
const ANY = 'application/vnd.kubernetes.protobuf, */*';

/** The addresses that the wrapper shows, by slice. */
async function shown(accept = ANY): Promise<Record<string, string[]>> {
  const response = await fetch(proxy.url + PATHS.slices, { headers: { accept } });
  expect(response.headers.get('content-type')).toBe('application/json');
  const { items } = (await response.json()) as {
    items: { metadata: { name: string }; endpoints: { addresses: string[] }[] | null }[];
  };
  return Object.fromEntries(
    items.map(({ metadata, endpoints }) => [
      metadata.name,
      (endpoints ?? []).flatMap(({ addresses }) => addresses),
    ]),
  );
}

const NEAR = { 'web-a': ['10.0.0.1'], 'web-b': [] };

describe.each([
  ['that cuts metadata out', {}],
  ['that sends whole objects in place of metadata', { sendsWhole: true }],
])('behind a cache %s', (_, more) => {
  test('the wrapper is ready, shows the right endpoints, and follows every change', async () => {
    await startBehindCache(more);
    expect(await shown()).toEqual(NEAR);
    await eventually(() => problemsOf(proxy), []);
    server.label('edge-3', 'site', 'a');
    await eventually(shown, { 'web-a': ['10.0.0.1'], 'web-b': ['10.0.0.2'] });
    server.label('edge-1', 'site', 'b');
    await eventually(shown, { 'web-a': [], 'web-b': [] });
    server.label('edge-1', 'site', 'a');
    putSlice(server, 'web-c', 'web', [{ ip: '10.0.0.3', node: 'edge-2' }]);
    server.delete('endpointslices', 'web-b');
    await eventually(shown, { 'web-a': ['10.0.0.1'], 'web-c': ['10.0.0.3'] });
  });
});

// KubeEdge's CloudCore, kubeedge/kubeedge#7194: in lists, slices with a port `https` lead to the node itself.
test('slices that the cache changes in its lists are those of its watches', async () => {
  const state = useState();
  const inLists = (object: CachedObject): CachedObject =>
    object.metadata.name === 'web-a'
      ? { ...object, endpoints: [{ addresses: ['127.0.0.1'], nodeName: 'edge-2' }] }
      : object;
  const url = await startBehindCache({ inLists }, { state });
  await eventually(shown, NEAR);
  await eventually(() => problemsOf(proxy), []);
  await proxy.close();
  // Cut off, it shows its snapshot.
  await cache.close();
  proxy = await useWrapper(url, { state });
  expect(await shown()).toEqual(NEAR);
  await proxy.close();
  await startBehindCache({ inLists });
  await eventually(shown, NEAR);
  putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.7', node: 'edge-2' }]);
  await eventually(shown, { ...NEAR, 'web-a': ['10.0.0.7'] });
});

test('what a cache sends again at the beginning of a watch is no event', async () => {
  putService(server, 'plain', null);
  putSlice(server, 'plain-a', 'plain', [{ ip: '10.0.0.3', node: 'edge-3' }]);
  await startBehindCache();
  const node = { fieldSelector: 'metadata.name=edge-1' };
  const open = async (path: string, query = {}) =>
    await useWatch(proxy.url + path, { ...STREAMING_LIST, ...query }, 'json');
  const watches = [
    await open(PATHS.slices),
    await open('/api/v1/services'),
    await open('/api/v1/nodes', node),
  ];
  const initial = watches.map((watch) => watch.names());
  cache.endWatches();
  // Each collection has begun a watch again when it follows.
  putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.7', node: 'edge-2' }]);
  putService(server, 'db', ['site']);
  server.label('edge-1', 'unrelated', 'x');
  const added = [['MODIFIED web-a'], ['ADDED db'], ['MODIFIED edge-1']];
  const seen = () => watches.map((watch, index) => watch.names().slice(initial[index]?.length));
  await eventually(seen, added);
});

test('a client that accepts protobuf only gets 406 with the reason, every other one JSON', async () => {
  await startBehindCache();
  await shown('application/json');
  await shown('*/*');
  const headers = { accept: 'application/vnd.kubernetes.protobuf' };
  const response = await fetch(proxy.url + PATHS.slices, { headers });
  expect(response.status).toBe(406);
  expect(await response.text()).toContain('has application/json only');
});

test('a node that is moved to another zone is looked up, in JSON and through the cache', async () => {
  const zone = 'topology.kubernetes.io/zone';
  for (const node of ['edge-1', 'edge-2']) server.label(node, zone, 'z1');
  server.delete('services', 'web');
  putService(server, 'zoned', [zone]);
  putSlice(server, 'zoned-a', 'zoned', [{ ip: '10.0.0.4', node: 'edge-2', zone: 'z1' }]);
  await startBehindCache();
  const zoned = async () => (await shown())['zoned-a'];
  await eventually(zoned, ['10.0.0.4']);
  // Until the cache follows the zone, it does not see that a node leaves it.
  const isFollowed = ({ query }: { query: URLSearchParams }) =>
    query.get('watch') === 'true' && query.get('labelSelector') === `${zone}=z1`;
  await eventually(() => server.requests.some(isFollowed), true);
  server.label('edge-2', zone, 'z2');
  await eventually(zoned, []);
  const lookups = cache.requests.filter(({ path }) => path.includes('metadata.name%3Dedge-2'));
  expect(lookups[0]?.accept).toContain('application/json');
  server.label('edge-2', zone, 'z1');
  await eventually(zoned, ['10.0.0.4']);
});

test('a server that begins its watches anew is known as a cache', async () => {
  const { host } = new URL(await startBehindCache());
  await shown();
  await eventually(() => proxy.upstream.serverState.isCache(host), true);
  expect(readHealth(proxy).data).toMatchObject({ state: 'connected', ageSeconds: 0 });
});

describe('while a cache has lost the API server', () => {
  let state: ReturnType<typeof useState>;
  let url: string;

  beforeEach(async () => {
    state = useState();
    url = await startBehindCache({}, { state });
    expect(await shown()).toEqual(NEAR);
    await eventually(() => problemsOf(proxy), []);
    const { host } = new URL(url);
    await eventually(() => proxy.upstream.serverState.isCache(host), true);
  });

  /** Changes that the cache does not see. The API server's version is newer than all that the cache has stored. */
  function changeMeanwhile(): void {
    cache.disconnect();
    putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.9', node: 'edge-2' }]);
    server.delete('endpointslices', 'web-b');
  }

  const problems = () => problemsOf(proxy).join();

  test('the last state stays, and all is right when the API server is back, without what was deleted', async () => {
    changeMeanwhile();
    cache.endWatches();
    expect(await shown()).toEqual(NEAR);
    cache.connect();
    await eventually(shown, { 'web-a': ['10.0.0.9'] });
    await eventually(problems, '');
  });

  test('a wrapper that starts shows its snapshot, never an older list of the cache', async () => {
    await proxy.close();
    changeMeanwhile();
    proxy = await useWrapper(url, { state });
    expect(await shown()).toEqual(NEAR);
    expect(problems()).toContain('snapshot');
    expect(problems()).toContain('a cache answers from its own store');
    cache.connect();
    await eventually(shown, { 'web-a': ['10.0.0.9'] });
    await eventually(problems, '');
  });
});

describe('where a cache is the second server', () => {
  let front: UrlFront;
  let state: ReturnType<typeof useState>;
  let cacheUrl: string;

  beforeEach(async () => {
    front = await useFront(apiServer);
    state = useState();
    cache = closedLater(new EdgeCache({ upstream: apiServer }));
    cacheUrl = await cache.listen();
  });

  async function start(): Promise<void> {
    const raw = { servers: [cacheUrl] };
    proxy = await useWrapper(front.url, { state, returnMs: 500 }, raw);
    await eventually(() => problemsOf(proxy), []);
  }

  const loseApiServer = async () => await front.begin({ kind: 'refuse' });

  /** The type of a list, and the addresses in it. */
  async function listed() {
    const response = await fetch(proxy.url + PATHS.slices, { headers: { accept: ANY } });
    const type = response.headers.get('content-type') ?? '';
    const codec = type.includes('json') ? CODECS.json : CODECS.protobuf;
    const { items } = codec.decodeList([Buffer.from(await response.arrayBuffer())]);
    const groups = items.flatMap((item) => codec.endpointGroups(ENDPOINT_SLICES, item));
    const endpoints = groups.flatMap((group) => group.endpoints);
    return [type, ...endpoints.flatMap(({ addresses }) => addresses)];
  }

  test('a watch ends with 410 when the encoding changes, and the next list has all in the other one', async () => {
    await start();
    // A busy machine may have had the cache first.
    await eventually(listed, [MEDIA_TYPES.protobuf, '10.0.0.1']);
    const first = await useWatch(proxy.url + PATHS.slices, {}, 'protobuf');
    const lost = await loseApiServer();
    await first.ended;
    expect(first.names().at(-1)).toBe('ERROR 410');
    await eventually(listed, [MEDIA_TYPES.json, '10.0.0.1']);
    server.label('edge-3', 'site', 'a');
    await eventually(listed, [MEDIA_TYPES.json, '10.0.0.1', '10.0.0.2']);
    const watch = `${proxy.url}${PATHS.slices}?watch=true`;
    const second = await fetch(watch, { headers: { accept: ANY } });
    expect(second.headers.get('content-type')).toBe(MEDIA_TYPES.json);
    await lost.end();
    const events = (await second.text()).trim().split('\n');
    expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    await eventually(listed, [MEDIA_TYPES.protobuf, '10.0.0.1', '10.0.0.2']);
    putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.7', node: 'edge-2' }]);
    await eventually(listed, [MEDIA_TYPES.protobuf, '10.0.0.7', '10.0.0.2']);
  });

  test('a snapshot in one encoding is replaced by a list in the other one', async () => {
    await start();
    await listed();
    const lost = await loseApiServer();
    await eventually(listed, [MEDIA_TYPES.json, '10.0.0.1']);
    await proxy.close();
    await cache.close();
    const raw = { servers: [cacheUrl] };
    proxy = await useWrapper(front.url, { state, returnMs: 500 }, raw);
    await eventually(listed, [MEDIA_TYPES.json, '10.0.0.1']);
    expect(problemsOf(proxy).join()).toContain('snapshot');
    await lost.end();
    await eventually(listed, [MEDIA_TYPES.protobuf, '10.0.0.1']);
    await eventually(() => problemsOf(proxy), []);
  });
});
