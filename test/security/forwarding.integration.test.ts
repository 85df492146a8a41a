import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { type RawConnection, raw } from '../support/http/http-client.ts';
import {
  bearerSpellings,
  jsonWebToken,
  jwtSpellings,
  tokensOf,
} from '../support/http/token-spellings.ts';
import { type HttpsWrapper, useHttps } from '../support/wrapper/https-wrapper.ts';

const WATCH = '/api/v1/namespaces/default/events?watch=1';

let wrapper: HttpsWrapper;
let sockets: Socket[] = [];

beforeAll(async () => {
  wrapper = await useHttps({
    forwarding: { maxRequests: 5, maxPerCaller: 3 },
    maxReviews: 64,
  });
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await eventually(() => wrapper.proxy.listeners.forwarding?.active === 0, true);
  wrapper.api.passed.length = 0;
});

/**
 * Opens a connection and writes a request of a caller.
 *
 * @param token or a whole Authorization header
 */
function begin(token: string, method: string, path: string, more = '\r\n'): RawConnection {
  const authorization = token.includes(' ') ? token : `Bearer ${token}`;
  const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n`;
  const begun = raw(wrapper.proxy.httpsUrl ?? '', head + more, { ca: wrapper.ca });
  sockets.push(begun.socket);
  return begun;
}

/** Opens a watch and waits until it is forwarded. */
async function watch(token: string) {
  const { active = 0 } = wrapper.proxy.listeners.forwarding ?? {};
  const begun = begin(token, 'GET', WATCH);
  await eventually(() => wrapper.proxy.listeners.forwarding?.active === active + 1, true);
  return begun;
}

test('each caller has its own limit of forwarded requests, including watches', async () => {
  await watch('a');
  await watch('a');
  const third = await watch('a');
  const answer = await wrapper.ask('/version', { token: 'a' });
  expect(answer.code).toBe(429);
  expect(answer.headers['retry-after']).toBe('1');
  expect(JSON.parse(answer.body)).toMatchObject({ kind: 'Status', reason: 'TooManyRequests' });
  // Other callers are not affected, and views do not count.
  expect((await wrapper.ask('/version', { token: 'b' })).code).not.toBe(429);
  expect((await wrapper.ask('/api/v1/services', { token: 'a' })).code).toBe(200);
  third.socket.destroy();
  await eventually(() => wrapper.proxy.listeners.forwarding?.active === 2, true);
  expect((await wrapper.ask('/version', { token: 'a' })).code).not.toBe(429);
});

test('a forwarded request has fewer listeners for any event than Node.js takes for a leak', async () => {
  const most: Record<string, number> = {};
  const onRequest = (message: unknown): void => {
    const { response } = message as { response: ServerResponse };
    response.on('newListener', (name: string) => {
      most[name] = Math.max(most[name] ?? 0, response.listenerCount(name) + 1);
    });
  };
  subscribe('http.server.request.start', onRequest);
  await wrapper.ask('/version', { token: 'a' });
  unsubscribe('http.server.request.start', onRequest);
  expect(most.close).toBeGreaterThan(0);
  expect(Math.max(...Object.values(most))).toBeLessThan(EventEmitter.defaultMaxListeners);
});

const jwt = jsonWebToken('a');

test.each([
  ['64 spellings of "Bearer" before one token', bearerSpellings('a')],
  ['16 spellings of a JSON web token', jwtSpellings(jwt).map((each) => `bEaReR ${each}`)],
  ['64 tokens of one user', tokensOf('a')],
])('%s are one caller', async (_, tokens) => {
  const answers = tokens.map((each) => begin(each, 'GET', WATCH));
  const refused = () => answers.filter(({ received }) => received().startsWith('HTTP/1.1 429 '));
  await eventually(() => refused().length === tokens.length - 3, true);
  expect(wrapper.proxy.listeners.forwarding?.active).toBe(3);
  expect((await wrapper.ask('/version', { token: 'b' })).code).toBe(200);
});

test('64 tokens of one user may have 64 reads, a quarter of maxConnections, watches included', async () => {
  const tokens = [...tokensOf('a'), ...tokensOf('a')];
  const answers = tokens.map((each) => begin(each, 'GET', '/api/v1/services?watch=1'));
  const count = (code: number) =>
    answers.filter(({ received }) => received().startsWith(`HTTP/1.1 ${code} `)).length;
  await eventually(() => count(200) + count(429) === tokens.length, true);
  expect(count(200)).toBe(64);
  expect((await wrapper.ask('/api/v1/services', { token: 'a/new' })).code).toBe(429);
  expect((await wrapper.ask('/api/v1/services', { token: 'b' })).code).toBe(200);
  for (const socket of sockets) socket.destroy();
  await eventually(() => wrapper.proxy.listeners.watches === 0, true);
  expect((await wrapper.ask('/api/v1/services', { token: 'a/new' })).code).toBe(200);
});

describe('a caller whose identity cannot be reviewed', () => {
  afterEach(() => {
    wrapper.api.refuseIdentity = () => undefined;
  });

  test.each([
    [401, 401],
    [429, 503],
    [500, 503],
    [200, 503],
  ])(
    'has nothing forwarded: a review that is answered with %d becomes %d',
    async (answer, code) => {
      wrapper.api.refuseIdentity = () => answer;
      const token = `new-${answer}`;
      expect((await wrapper.ask('/version', { token })).code).toBe(code);
      expect(wrapper.api.passed).toEqual([]);
    },
  );

  test.each([403, 404])('is counted by its token if the answer is %d', async (answer) => {
    wrapper.api.refuseIdentity = () => answer;
    for (let n = 0; n < 3; n++) await watch(`old-${answer}/1`);
    expect((await wrapper.ask('/version', { token: `old-${answer}/1` })).code).toBe(429);
    expect((await wrapper.ask('/version', { token: `old-${answer}/2` })).code).toBe(200);
  });

  test('is known if it was reviewed before', async () => {
    await wrapper.ask('/version', { token: 'early' });
    wrapper.api.refuseIdentity = () => 500;
    expect((await wrapper.ask('/version', { token: 'early' })).code).toBe(200);
  });

  test('and disconnects meanwhile has nothing forwarded, and frees its place', async () => {
    const review = Promise.withResolvers<undefined>();
    wrapper.api.refuseIdentity = () => review.promise;
    const seen = wrapper.api.identities.length;
    const request = begin('late/1', 'GET', WATCH);
    await eventually(() => wrapper.api.identities.length === seen + 1, true);
    request.socket.destroy();
    await eventually(
      () => wrapper.proxy.listeners.handlers.every((each) => each.listener.connections === 0),
      true,
    );
    review.resolve(undefined);
    expect((await wrapper.ask('/version', { token: 'late/1' })).code).toBe(200);
    expect(wrapper.api.passed).toHaveLength(1);
    await eventually(() => wrapper.proxy.listeners.forwarding?.active === 0, true);
  });
});

test('all callers together have a limit', async () => {
  for (const token of ['a', 'a', 'b', 'b', 'c']) await watch(token);
  expect((await wrapper.ask('/version', { token: 'd' })).code).toBe(429);
});

test('a small body is read completely before the request is forwarded; a large one is streamed', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  const slow = begin('a', 'POST', path, 'Content-Length: 300\r\n\r\n{');
  await eventually(() => wrapper.proxy.listeners.forwarding?.active === 1, true);
  begin('b', 'POST', path, 'Content-Length: 300000\r\n\r\n{');
  begin('b', 'POST', path, 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n');
  await eventually(() => wrapper.api.passed.length === 2, true);
  expect(wrapper.api.passed.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer b',
    'Bearer b',
  ]);
  slow.socket.write('x'.repeat(299));
  await eventually(() => wrapper.api.passed.length === 3, true);
  expect(wrapper.api.passed[2]?.headers).toMatchObject({
    authorization: 'Bearer a',
    'content-length': '300',
  });
});
