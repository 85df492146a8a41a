import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { STREAMING_LIST } from '../../../harness/streaming-list.ts';
import type { Encoding, RawEvent } from '../../../src/filter/codec/codec.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { ACCEPT, CODECS } from '../../support/guarantees/watch-recorder.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useCluster, useWatch, useWrapper } from '../../support/wrapper/use.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const far = { ip: '10.0.0.3', node: 'edge-3' };
const near = { ip: '10.0.0.1', node: 'edge-1' };

let server: ApiServer;
let url: string;
let proxy: NodeProxy;

beforeEach(async () => {
  server = useCluster();
  putService(server, 'web', ['kubernetes.io/hostname']);
  putSlice(server, 'web-a', 'web', [near]);
  putSlice(server, 'web-b', 'web', [far]);
  url = await server.listen();
  proxy = await useWrapper(url);
});

const watch = (query: Record<string, string>, encoding: Encoding = 'protobuf') =>
  useWatch(proxy.url + SLICES, query, encoding);

/** Version of the view that watch() follows; each encoding has its own. */
async function listVersion(encoding: Encoding = 'protobuf'): Promise<string> {
  const response = await fetch(proxy.url + SLICES, { headers: { accept: ACCEPT[encoding] } });
  const body = Buffer.from(await response.arrayBuffer());
  return CODECS[encoding].decodeList([body]).resourceVersion;
}

function versionOf(event: RawEvent | undefined): string {
  if (event === undefined || event.type === 'ERROR') throw new Error('no object in the event');
  return CODECS.protobuf.meta(event.object).resourceVersion;
}

/** Makes a change that is visible on this node. */
function change(n = 1): void {
  putSlice(server, 'web-a', 'web', [near, { ip: `10.0.1.${n}`, node: 'edge-1' }]);
}

describe('WATCH', () => {
  test.each<Encoding>(['json', 'protobuf'])(
    'a streaming list in %s is ADDED for all, then the bookmark that ends them, then changes',
    async (encoding) => {
      const recorder = await watch(STREAMING_LIST, encoding);
      await recorder.until(3);
      expect(recorder.names()).toEqual(['ADDED web-a', 'ADDED web-b', 'BOOKMARK']);
      const [, , bookmark] = recorder.events;
      const annotations =
        bookmark?.type === 'BOOKMARK'
          ? CODECS[encoding].partialMetadata(bookmark.object).annotations
          : undefined;
      expect(annotations?.get('k8s.io/initial-events-end')).toBe('true');
      change();
      await recorder.until(4);
      expect(recorder.names()[3]).toBe('MODIFIED web-a');
    },
  );

  test.each(['', '0'])(
    'from version %p begins with ADDED for every object',
    async (resourceVersion) => {
      const recorder = await watch({ resourceVersion });
      change();
      await recorder.until(3);
      expect(recorder.names()).toEqual(['ADDED web-a', 'ADDED web-b', 'MODIFIED web-a']);
    },
  );

  test('sendInitialEvents=false begins with the next change', async () => {
    const recorder = await watch({
      sendInitialEvents: 'false',
      resourceVersionMatch: 'NotOlderThan',
    });
    change();
    await recorder.until(1);
    expect(recorder.names()).toEqual(['MODIFIED web-a']);
  });

  // kube-apiserver 1.36 and 1.37: its cacher sends errors as events once a watch is authorized and its version parsed.
  test.each<Encoding>(['json', 'protobuf'])(
    'from a version that was never issued is one ERROR event of 410 in %s, also above the newest',
    async (encoding) => {
      const version = BigInt(await listVersion(encoding));
      for (const other of [
        version - 1n,
        version + 1n,
        version * 1000n,
        1n,
        2n ** 64n,
        10n ** 40n,
      ]) {
        const recorder = await watch({ resourceVersion: String(other) }, encoding);
        await recorder.ended;
        expect(recorder.events).toEqual([
          { type: 'ERROR', status: expect.objectContaining({ code: 410, reason: 'Expired' }) },
        ]);
      }
      const refused = { listener: 'listen', reason: 'Expired' };
      expect(proxy.listeners.refusals.counter.countOf(refused.listener, refused.reason)).toBe(6);
    },
  );

  test('a streaming list of a version above the newest is one ERROR event of 504', async () => {
    const above = BigInt(await listVersion()) + 1n;
    const recorder = await watch({ ...STREAMING_LIST, resourceVersion: String(above) });
    await recorder.ended;
    const causes = [{ reason: 'ResourceVersionTooLarge', message: expect.any(String) }];
    expect(recorder.events).toEqual([
      { type: 'ERROR', status: expect.objectContaining({ code: 504, causes }) },
    ]);
  });

  test.each(['abc', '-1', '1.5', '0x10', '1e3', ' 1'])(
    'from version %p, which is malformed, gets the status 400',
    async (resourceVersion) => {
      await expect(watch({ resourceVersion })).rejects.toThrow('400');
    },
  );

  test('a bookmark has the version of the last event, and a watch can resume from it', async () => {
    proxy = await useWrapper(url, { bookmarkMs: 50 });
    const recorder = await watch(STREAMING_LIST);
    await recorder.until(3);
    for (const n of [1, 2, 3]) change(n);
    const hasLast = (event: RawEvent) =>
      event.type === 'MODIFIED' &&
      Buffer.isBuffer(event.object) &&
      event.object.includes('10.0.1.3');
    await eventually(() => recorder.events.some(hasLast), true);
    const bookmarks = () => recorder.names().filter((name) => name === 'BOOKMARK').length;
    const before = bookmarks();
    await eventually(() => bookmarks() > before + 1, true);
    const last = versionOf(recorder.events.at(-1));
    expect(last).toBe(await listVersion());
    const resumed = await watch({ resourceVersion: last });
    change(50);
    await resumed.until(1);
    expect(resumed.names()).toEqual(['MODIFIED web-a']);
  });
});
