import { beforeEach, describe, expect, test } from '@jest/globals';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { exchange, raw } from '../support/http/http-client.ts';
import { useCluster, useWrapper } from '../support/wrapper/use.ts';

const GET = 'GET /api/v1/services HTTP/1.1\r\nHost: 127.0.0.1\r\n';
const BOUNDS = {
  maxConnections: 4,
  maxHeaderBytes: 2000,
  headersTimeoutMs: 400,
  requestTimeoutMs: 600,
};

let proxy: NodeProxy;

beforeEach(async () => {
  proxy = await useWrapper(await useCluster().listen(), { listenerLimits: BOUNDS });
});

const listener = () => proxy.listeners.handlers[0]?.listener ?? { connections: 0, refused: 0 };

const WATCH = 'GET /api/v1/services?watch=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

describe('limits', () => {
  test('headers that are too large get 431 with the name of the limit', async () => {
    const answer = await exchange(proxy.url, `${GET}X-A: ${'x'.repeat(2000)}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 431 .*2000 bytes/s);
  });

  test.each([
    ['nothing is ever sent', ''],
    ['the headers never end (slow-loris)', `${GET}X-A: b\r\n`],
    [
      'the body never ends',
      'POST /apis/events.k8s.io/v1/namespaces/default/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{',
    ],
  ])('a connection on which %s is closed', async (_name, bytes) => {
    const start = performance.now();
    const answer = await exchange(proxy.url, bytes, 30_000);
    expect(performance.now() - start).toBeLessThan(25_000);
    if (bytes.startsWith('POST')) return;
    expect(answer).toMatch(/^HTTP\/1.1 408 .*0.4 s for its headers and 0.6 s in all/s);
  });

  test('a connection beyond the limit gets 503 with the name of the limit, until another one closes', async () => {
    const watches = Array.from({ length: 4 }, () => raw(proxy.url, WATCH));
    await eventually(() => proxy.listeners.watches === 4, true);
    expect(await exchange(proxy.url, `${GET}\r\n`)).toMatch(
      /^HTTP\/1.1 503 .*4 connections are in use already \(maxConnections\)/s,
    );
    expect(listener().refused).toBe(1);
    expect(watches.every(({ received }) => received().startsWith('HTTP/1.1 200'))).toBe(true);
    watches[0]?.socket.destroy();
    await eventually(() => listener().connections === 3, true);
    expect(await exchange(proxy.url, `${GET}Connection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 200 /);
  });
});
