import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../embedded/api-server.ts';
import type { Encoding } from '../../../src/filter/codec/codec.ts';
import type { NodeProxy } from '../../../src/proxy/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import {
  ACCEPT,
  CODECS,
  recordWatch,
  STREAMING_LIST,
  type WatchRecorder,
} from '../../support/guarantees/watch-recorder.ts';
import {
  createSmallCluster,
  putEndpoints,
  putNode,
  putService,
  putSlice,
  type SmallEndpoint,
} from '../../support/wrapper/small-cluster.ts';
import { startWrapper } from '../../support/wrapper/wrapper-fixture.ts';

const KEYS = ['kubernetes.io/hostname', 'site', '*'];
const on1: SmallEndpoint = { ip: '10.0.0.1', node: 'edge-1' };
const on2: SmallEndpoint = { ip: '10.0.0.2', node: 'edge-2' };
const on3: SmallEndpoint = { ip: '10.0.0.3', node: 'edge-3' };

interface Variant {
  readonly collection: 'endpointslices' | 'endpoints';
  readonly path: string;
  readonly encoding: Encoding;
}

const variants: Variant[] = (['json', 'protobuf'] as const).flatMap((encoding) =>
  ['', '/namespaces/default'].flatMap((scope): Variant[] => [
    {
      collection: 'endpointslices',
      path: `/apis/discovery.k8s.io/v1${scope}/endpointslices`,
      encoding,
    },
    { collection: 'endpoints', path: `/api/v1${scope}/endpoints`, encoding },
  ]),
);

describe.each(variants)('$encoding $path', ({ collection, path, encoding }) => {
  let server: ApiServer;
  let proxy: NodeProxy;
  let watch: WatchRecorder;

  beforeEach(async () => {
    server = createSmallCluster();
    proxy = await startWrapper(await server.listen());
  });

  afterEach(async () => {
    watch.close();
    await proxy.close();
    await server.close();
  });

  /** The Service's endpoints; with slices, the last one is in a slice of its own. */
  function put(...endpoints: SmallEndpoint[]): void {
    if (collection === 'endpoints') {
      putEndpoints(server, 'web', endpoints);
      return;
    }
    putSlice(server, 'web-a', 'web', endpoints.slice(0, -1));
    putSlice(server, 'web-b', 'web', endpoints.slice(-1));
  }

  async function open(): Promise<void> {
    watch = await recordWatch(proxy.url + path, STREAMING_LIST, encoding);
  }

  /** The addresses that a follower of the watch has. */
  function followed(): string[] {
    const objects = new Map<string, Buffer>();
    for (const event of watch.events) {
      if (event.type === 'ERROR' || event.type === 'BOOKMARK') continue;
      const { name } = CODECS[encoding].meta(event.object);
      if (event.type === 'DELETED') objects.delete(name);
      else objects.set(name, event.object);
    }
    return addressesIn([...objects.values()]);
  }

  /** The addresses in a new list. */
  async function listed(): Promise<string[]> {
    const response = await fetchBytes(proxy.url + path, encoding);
    return addressesIn(CODECS[encoding].decodeList([response]).items);
  }

  function addressesIn(objects: readonly Buffer[]): string[] {
    const text = objects.map((object) => object.toString('latin1')).join(' ');
    return [...new Set(text.match(/10\.0\.0\.[0-9]/g) ?? [])].sort();
  }

  /** Follower and list agree on the addresses of these endpoints. */
  async function shows(...endpoints: SmallEndpoint[]): Promise<void> {
    const expected = endpoints.map(({ ip }) => ip);
    await eventually(followed, expected);
    expect(await listed()).toEqual(expected);
  }

  test('own node relabelled', async () => {
    putService(server, 'web', KEYS);
    put(on2, on3);
    await open();
    await shows(on2);
    server.label('edge-1', 'site', 'b');
    await shows(on3);
    server.label('edge-1', 'site', null);
    await shows(on2, on3);
  });

  test('another node relabelled, added, deleted', async () => {
    putService(server, 'web', ['site']);
    const on4: SmallEndpoint = { ip: '10.0.0.4', node: 'edge-4' };
    put(on2, on3, on4);
    await open();
    await shows(on2);
    server.label('edge-3', 'site', 'a');
    await shows(on2, on3);
    putNode(server, 'edge-4', { site: 'a' });
    await shows(on2, on3, on4);
    server.delete('nodes', 'edge-4');
    await shows(on2, on3);
    putNode(server, 'edge-4', { site: 'a' });
    await shows(on2, on3, on4);
  });

  test('Service annotated, changed, un-annotated, made invalid', async () => {
    putService(server, 'web', null);
    put(on1, on2, on3);
    await open();
    await shows(on1, on2, on3);
    server.annotate('web', 'topologyKeys', '["kubernetes.io/hostname"]');
    await shows(on1);
    server.annotate('web', 'topologyKeys', '["site"]');
    await shows(on1, on2);
    server.annotate('web', 'topologyKeys', null);
    await shows(on1, on2, on3);
    server.annotate('web', 'topologyKeys', '["site"]');
    await shows(on1, on2);
    server.annotate('web', 'topologyKeys', 'site');
    await shows(on1, on2, on3);
  });

  test('Service created after its endpoints, deleted and created again', async () => {
    put(on1, on2, on3);
    await open();
    await shows(on1, on2, on3);
    putService(server, 'web', ['site']);
    await shows(on1, on2);
    server.delete('services', 'web');
    await shows(on1, on2, on3);
    putService(server, 'web', ['kubernetes.io/hostname']);
    await shows(on1);
  });

  test('a sibling of the same Service changed', async () => {
    putService(server, 'web', KEYS);
    put(on2, on3);
    await open();
    await shows(on2);
    put(on2, on1);
    await shows(on1);
    put(on2, on3);
    await shows(on2);
  });

  test('readiness moved the winning key', async () => {
    putService(server, 'web', KEYS);
    put(on1, on2, on3);
    await open();
    await shows(on1);
    put({ ...on1, ready: false }, on2, on3);
    await shows(on1, on2);
    put({ ...on1, ready: false }, { ...on2, ready: false }, on3);
    await shows(on1, on2, on3);
    put(on1, on2, on3);
    await shows(on1);
  });

  test('a far endpoint that comes and goes causes no event', async () => {
    putService(server, 'web', KEYS);
    put(on1, on2);
    await open();
    await shows(on1);
    const before = watch.events.length;
    put(on1, on3);
    put(on1, on2);
    put({ ...on1, ready: false }, on2);
    await shows(on1, on2);
    const after = watch.events.slice(before).filter(({ type }) => type !== 'BOOKMARK');
    // At most the two objects that the lost readiness concerns.
    expect(after.length).toBeLessThanOrEqual(2);
  });
});

async function fetchBytes(url: string, encoding: Encoding): Promise<Buffer> {
  const response = await fetch(url, { headers: { accept: ACCEPT[encoding] } });
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}
