import { beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { STREAMING_LIST } from '../../../harness/streaming-list.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { type RawConnection, raw, readFirst } from '../../support/http/http-client.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useCluster, useWatch, useWrapper } from '../../support/wrapper/use.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const near = { ip: '10.0.0.1', node: 'edge-1' };

let server: ApiServer;
let proxy: NodeProxy;

beforeEach(() => {
  server = useCluster();
  putService(server, 'web', ['kubernetes.io/hostname']);
  putSlice(server, 'web-a', 'web', [near]);
});

async function start(options: Partial<NodeProxyOptions>): Promise<void> {
  proxy = await useWrapper(await server.listen(), options);
}

const watch = (query: Record<string, string>) => useWatch(proxy.url + SLICES, query, 'protobuf');

/** Sends a request on a connection of its own. */
function request(path: string): RawConnection {
  const lines = 'Host: 127.0.0.1\r\nAccept: application/json\r\n';
  return raw(proxy.url, `GET ${path} HTTP/1.1\r\n${lines}\r\n`);
}

/**
 * Starts the wrapper in a cluster with slices that are together larger than the socket buffers. Their list, and the
 * initial events of a watch, are requested and not read; another client has them.
 */
async function startWithUnread(options: Partial<NodeProxyOptions>) {
  for (let n = 0; n < 80; n++) {
    const fat = Array.from({ length: 900 }, (_, i) => ({
      ip: `10.${100 + n}.${i >> 8}.${i & 255}`,
      node: 'edge-1',
    }));
    putSlice(server, `fat-${n}`, 'fat', fat);
  }
  await start(options);
  const quick = await watch(STREAMING_LIST);
  await quick.until(82);
  for (const query of ['', '?watch=1']) request(SLICES + query).socket.pause();
  return { quick, listener: proxy.listeners.handlers[0] };
}

test('a client that reads nothing gets 410, and no other client waits for it', async () => {
  await start({ window: { entries: 10, bytes: 4096 } });
  const fat = Array.from({ length: 400 }, (_, i) => ({
    ip: `10.1.${i >> 8}.${i & 255}`,
    node: 'edge-1',
  }));
  const quick = await watch(STREAMING_LIST);
  await quick.until(2);
  const slow = request(`${SLICES}?watch=1`).socket.pause();
  await eventually(() => proxy.listeners.watches, 2);
  for (let i = 0; i < 400; i++) {
    putSlice(server, 'web-a', 'web', [...fat, { ip: `10.2.${i >> 8}.${i & 255}`, node: 'edge-1' }]);
    await quick.until(3 + i);
  }
  const text = await new Promise<string>((resolve) => {
    let received = '';
    slow.on('data', (chunk) => {
      received = (received + chunk.toString()).slice(-4096);
      if (received.includes('"type":"ERROR"')) resolve(received);
    });
    slow.resume();
  });
  expect(text).toMatch(/"code":410/);
});

test('clients that read nothing of a list, or of the initial events of a watch, are disconnected after a while', async () => {
  const { quick, listener } = await startWithUnread({ writeTimeoutMs: 200 });
  await eventually(() => listener?.stalled, 2);
  await eventually(() => listener?.listener.connections, 1);
  putSlice(server, 'web-a', 'web', [near, { ip: '10.0.0.2', node: 'edge-1' }]);
  await quick.until(83);
});

test('a list that is read slowly is the state of its version, whatever changes and is listed meanwhile', async () => {
  const { quick } = await startWithUnread({});
  const list = async () => await (await fetch(proxy.url + SLICES)).text();
  const whole = await list();
  const slow = request(SLICES);
  expect((await readFirst(slow)).length).toBeLessThan(whole.length / 2);
  for (let n = 0; n < 80; n++) {
    if (n % 3 === 0) server.delete('endpointslices', `fat-${n}`);
    else putSlice(server, `fat-${n}`, 'fat', [near]);
    await quick.until(83 + n);
    if (n % 8 === 0) expect(await list()).not.toContain(`"10.${100 + n}.0.1"`);
  }
  slow.socket.resume();
  await eventually(() => slow.received().endsWith(whole), true);
});

// Each such response kept all objects of its time in memory: 140 lists of 8.5 MB, between which all slices changed,
// took 1.2 GB.
test('a list, or initial events, that are not read end when the log has dropped their state', async () => {
  const { quick, listener } = await startWithUnread({ window: { entries: 10, bytes: 4096 } });
  await eventually(() => listener?.listener.connections, 3);
  // More than twice the number of objects.
  for (let n = 0; n < 200; n++) {
    putSlice(server, 'web-a', 'web', [{ ip: `10.2.0.${n}`, node: 'edge-1' }]);
    await quick.until(83 + n);
  }
  await eventually(() => listener?.listener.connections, 1);
  expect(listener?.stalled).toBe(1);
});
