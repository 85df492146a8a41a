import { once } from 'node:events';
import type { Socket } from 'node:net';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Admin } from '../../src/admin/admin.ts';
import { DEFAULT_LISTENER_LIMITS } from '../../src/server/http/listener-limits.ts';
import { eventually } from '../support/eventually.ts';
import { exchange, raw } from '../support/http/http-client.ts';
import { type HttpsWrapper, useHttps } from '../support/wrapper/https-wrapper.ts';
import { useAdmin } from '../support/wrapper/use.ts';

const HOST = 'Host: 127.0.0.1\r\n';
const BOUNDS = { ...DEFAULT_LISTENER_LIMITS, maxConnections: 16 };
/** Connections that a listener accepts beyond its limit, so that it can refuse their requests. */
const SPARE = 32;
/** How long a response may take on a busy machine; it ends with the connection. */
const RESPONSE_MS = 30_000;

let wrapper: HttpsWrapper;
let admin: Admin;

beforeEach(async () => {
  wrapper = await useHttps({}, { listenerLimits: BOUNDS });
  admin = await useAdmin(wrapper.proxy, BOUNDS);
});

type Listener = 'listen' | 'https.listen' | 'adminListen';

const urlOf = (listener: Listener): string => {
  const { url, httpsUrl = '' } = wrapper.proxy;
  return { listen: url, 'https.listen': httpsUrl, adminListen: admin.url }[listener];
};

/** Opens TCP connections that send these bytes and remain open; resolves when all are accepted or closed. */
async function hold(listener: Listener, count: number, bytes: string): Promise<Socket[]> {
  const url = urlOf(listener).replace('https', 'http');
  const held = Array.from({ length: count }, () => raw(url, bytes).socket);
  await Promise.all(held.map((socket) => once(socket, 'connect')));
  return held;
}

const open = (held: readonly Socket[]): number => held.filter(({ closed }) => !closed).length;

/** Sends the request of kubelet or kube-proxy on a new connection. */
async function isServed(listener: Listener): Promise<boolean> {
  if (listener === 'https.listen') {
    return (await wrapper.ask('/api/v1/services', { token: 'token' })).code === 200;
  }
  const path = listener === 'listen' ? '/api/v1/services' : '/healthz';
  const request = `GET ${path} HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`;
  return /^HTTP\/1.1 200 /.test(await exchange(urlOf(listener), request, RESPONSE_MS));
}

const idleOn = (listener: Listener): string =>
  listener === 'adminListen'
    ? `GET /healthz HTTP/1.1\r\n${HOST}\r\n`
    : `GET /api/v1/services HTTP/1.1\r\n${HOST}\r\n`;

// Regression: with 400 silent connections to the admin port, every liveness probe failed.
describe.each<Listener>(['listen', 'https.listen', 'adminListen'])('on %s', (listener) => {
  test.each([
    ['are silent', () => ''],
    ['never end their headers', () => `${idleOn(listener).slice(0, -2)}X-A: `],
    ['never end a body', () => `POST / HTTP/1.1\r\n${HOST}Content-Length: 9\r\n\r\n{`],
    ['never end a TLS handshake', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc'],
    ['are idle', () => idleOn(listener)],
  ])('400 connections that %s lock no client out', async (_name, bytes) => {
    const held = await hold(listener, 400, bytes());
    for (let i = 0; i < 3; i++) expect(await isServed(listener)).toBe(true);
    await eventually(() => open(held) <= BOUNDS.maxConnections + SPARE, true);
  });
});

test('over https, idle connections after a handshake lock no client out', async () => {
  const { ca } = wrapper;
  const held = Array.from({ length: 100 }, () => raw(urlOf('https.listen'), '', { ca }).socket);
  await eventually(() => open(held) <= BOUNDS.maxConnections + SPARE, true);
  expect(await isServed('https.listen')).toBe(true);
  const [secure] = wrapper.proxy.listeners.handlers.filter(({ name }) => name === 'https.listen');
  expect(secure?.listener.connections).toBeLessThanOrEqual(BOUNDS.maxConnections + SPARE);
});

test('a watch is not closed, however many connections open', async () => {
  const watch = `GET /api/v1/services?watch=1 HTTP/1.1\r\n${HOST}\r\n`;
  const [held] = await hold('listen', 1, watch);
  await eventually(() => wrapper.proxy.listeners.watches === 1, true);
  await hold('listen', 400, '');
  await hold('listen', 400, idleOn('listen'));
  expect(await isServed('listen')).toBe(true);
  expect([held?.closed, wrapper.proxy.listeners.watches]).toEqual([false, 1]);
});

test('on the admin port a silent connection is closed within seconds, and then an idle one', async () => {
  const start = performance.now();
  const closedAfter = async ([socket]: readonly Socket[]): Promise<number> => {
    await once(socket as Socket, 'close');
    return performance.now() - start;
  };
  const [silentMs, idleMs] = await Promise.all([
    closedAfter(await hold('adminListen', 1, '')),
    closedAfter(await hold('adminListen', 1, idleOn('adminListen'))),
  ]);
  // The first part of the headers of another listener may take 10 s, and its clients are idle for minutes.
  expect(silentMs).toBeLessThan(9_000);
  expect(idleMs).toBeGreaterThan(silentMs);
  expect(idleMs).toBeLessThan(30_000);
});
