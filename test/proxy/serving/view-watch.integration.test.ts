import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { Encoding, RawEvent } from '../../../src/filter/codec/codec.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/proxy/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { ACCEPT, CODECS, STREAMING_LIST } from '../../support/guarantees/watch-recorder.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useCluster, useWatch, useWrapper } from '../../support/wrapper/use.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const far = { ip: '10.0.0.3', node: 'edge-3' };
const near = { ip: '10.0.0.1', node: 'edge-1' };

let server: ApiServer;
let proxy: NodeProxy;

beforeEach(async () => {
  server = useCluster();
  putService(server, 'web', ['kubernetes.io/hostname']);
  putSlice(server, 'web-a', 'web', [near]);
  putSlice(server, 'web-b', 'web', [far]);
  await start();
});

async function start(options: Partial<NodeProxyOptions> = {}): Promise<void> {
  proxy = await useWrapper(await server.listen(), options);
}

async function restart(options: Partial<NodeProxyOptions>): Promise<void> {
  await proxy.close();
  await server.close();
  await start(options);
}

async function watch(query: Record<string, string> = {}, encoding: Encoding = 'protobuf') {
  const recorder = await useWatch(proxy.url + SLICES, query, encoding);
  return recorder;
}

/** Version of the view that watch() follows; each encoding has its own. */
async function listVersion(): Promise<string> {
  const response = await fetch(proxy.url + SLICES, { headers: { accept: ACCEPT.protobuf } });
  const body = Buffer.from(await response.arrayBuffer());
  return CODECS.protobuf.decodeList([body]).resourceVersion;
}

function versionOf(event: RawEvent | undefined): string {
  if (event === undefined || event.type === 'ERROR') throw new Error('no object in the event');
  return CODECS.protobuf.meta(event.object).resourceVersion;
}

/** Makes `count` changes that are visible on this node. */
async function change(count: number, from = 0): Promise<void> {
  for (let i = from; i < from + count; i++) {
    putSlice(server, 'web-a', 'web', [near, { ip: `10.0.1.${i}`, node: 'edge-1' }]);
    if (i % 20 === 0) await delay(1);
  }
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
      await change(1);
      await recorder.until(4);
      expect(recorder.names()[3]).toBe('MODIFIED web-a');
    },
  );

  test.each(['', '0'])(
    'from version %p begins with ADDED for every object',
    async (resourceVersion) => {
      const recorder = await watch({ resourceVersion });
      await change(1);
      await recorder.until(3);
      expect(recorder.names()).toEqual(['ADDED web-a', 'ADDED web-b', 'MODIFIED web-a']);
    },
  );

  test('sendInitialEvents=false begins with the next change', async () => {
    const recorder = await watch({
      sendInitialEvents: 'false',
      resourceVersionMatch: 'NotOlderThan',
    });
    await change(1);
    await recorder.until(1);
    expect(recorder.names()).toEqual(['MODIFIED web-a']);
  });

  test('from a version in the window continues exactly there', async () => {
    const full = await watch(STREAMING_LIST);
    await full.until(3);
    await change(5);
    await full.until(8);
    for (const index of [2, 3, 5, 7]) {
      const resumed = await watch({ resourceVersion: versionOf(full.events[index]) });
      await change(1, 100 + index);
      await full.until(full.events.length + 1);
      await resumed.until(full.events.length - index - 1);
      expect(resumed.events).toEqual(full.events.slice(index + 1));
    }
  });

  test('from a version that was never issued gets 410, also above the newest', async () => {
    const version = BigInt(await listVersion());
    for (const other of [version - 1n, version + 1n, version * 1000n, 1n]) {
      await expect(watch({ resourceVersion: String(other) })).rejects.toThrow('410');
    }
  });

  test('a change while the wrapper was down is not lost: versions of the last process get 410', async () => {
    const version = await listVersion();
    await restart({});
    await expect(watch({ resourceVersion: version })).rejects.toThrow('410');
    const relisted = await watch(STREAMING_LIST);
    await relisted.until(3);
    expect(versionOf(relisted.events[2])).not.toBe(version);
  });

  test('a bookmark has the version of the last event, and a watch can resume from it', async () => {
    await restart({ bookmarkMs: 50 });
    const recorder = await watch({ ...STREAMING_LIST });
    await recorder.until(3);
    await change(3);
    await eventually(() => recorder.names().at(-1), 'BOOKMARK');
    await eventually(() => recorder.names().filter((name) => name === 'BOOKMARK').length > 2, true);
    const last = versionOf(recorder.events.at(-1));
    expect(last).toBe(await listVersion());
    const resumed = await watch({ resourceVersion: last });
    await change(1, 50);
    await resumed.until(1);
    expect(resumed.names()).toEqual(['MODIFIED web-a']);
  });

  test('a wrapper that stops ends its watches with a bookmark, so that clients reconnect', async () => {
    const recorder = await watch(STREAMING_LIST);
    await recorder.until(3);
    await proxy.close();
    await recorder.ended;
    expect(recorder.names()).toEqual(['ADDED web-a', 'ADDED web-b', 'BOOKMARK', 'BOOKMARK']);
  });
});
