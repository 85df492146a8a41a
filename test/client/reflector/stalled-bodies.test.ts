import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { DROP_OLD, startUrlFront } from '../../../harness/network/tcp-front.ts';
import type { Query } from '../../../src/client/api/query.ts';
import { DEFAULT_READ_LIMITS } from '../../../src/client/api/read-limits.ts';
import { CollectionClient } from '../../../src/client/reflector/collection-client.ts';
import type { Upstream } from '../../../src/client/upstream/upstream.ts';
import { NODES, SERVICES } from '../../../src/filter/objects/resource.ts';
import { closedLater } from '../../support/closed-later.ts';
import { idleLater, startServer, type TestServer } from '../../support/http/http-server.ts';
import { startHttp2Server } from '../../support/http/http2-server.ts';
import { upstreamTo } from '../../support/http/upstream.ts';

/* A server that answers PINGs and small lists, and whose large bodies do not arrive, is left for one that serves. */

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

const { signal } = new AbortController();
const LIST = JSON.stringify({
  kind: 'ServiceList',
  metadata: { resourceVersion: '10' },
  items: [{ metadata: { name: 'a', namespace: 'n'.repeat(200) } }],
});
const EVENT = `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '11' } } })}\n`;
const serve: Answer = (response) => response.end(LIST);

/** How the servers answer what is asked of Services now; they have an own Node at all times. */
let answers: [Answer, Answer];
let servers: TestServer[];
let upstream: Upstream;
let services: CollectionClient;

beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  answers = [serve, serve];
  servers = await Promise.all(
    [0, 1].map(async (index) => {
      const started = await startServer((request, response) => {
        response.setHeader('content-type', 'application/json');
        if (request.url?.includes('/nodes') !== true) answers[index]?.(response, request);
        else response.end('{"kind":"NodeList","metadata":{"resourceVersion":"10"},"items":[]}');
      });
      return idleLater(started);
    }),
  );
  use(2);
});
afterEach(() => void jest.useRealTimers());

/** So many of the servers. */
function use(count: number): void {
  const [first, ...others] = servers.slice(0, count).map(({ url }) => url) as [URL, ...URL[]];
  ({ upstream } = upstreamTo(first, {}, { servers: others }));
  services = clientOf({ resource: SERVICES });
}

function clientOf(of: Pick<Query, 'resource'>): CollectionClient {
  const query = { ...of, namespace: '', labelSelector: '', fieldSelector: '', encoding: 'json' };
  return new CollectionClient({
    upstream,
    readLimits: DEFAULT_READ_LIMITS,
    query: query as Query,
  });
}

const inUse = () => servers.findIndex(({ url }) => url.host === upstream.address);

/** How a list of Services ends while time passes in steps of 10 s: `listed`, or its error; and after how many. */
async function list(): Promise<[end: string, steps: number]> {
  // The small ones are answered, so the server counts as one that is there.
  await clientOf({ resource: NODES }).list('', signal);
  return await ended(services.list('', signal).then(() => 'listed'));
}

async function ended(asked: Promise<unknown>): Promise<[end: string, steps: number]> {
  let end: unknown;
  void asked.then(
    (value) => (end = value),
    (error: Error) => (end = error.message),
  );
  for (let steps = 0; steps < 40; steps++) {
    await settle(() => end !== undefined);
    if (end !== undefined) return [String(end), steps];
    jest.advanceTimersByTime(10_000);
  }
  throw new Error('it does not end');
}

/** Gives the network some real time. */
async function settle(until: () => boolean): Promise<void> {
  for (let turn = 0; turn < 20 && !until(); turn++) await sleep(5);
}

/** Sends a body in parts, one in 20 s. */
function drip(body: Buffer, parts: number): Answer {
  const size = Math.ceil(body.length / parts);
  return (response) => {
    let sent = 0;
    const next = (): void => {
      response.write(body.subarray(sent, sent + size));
      sent += size;
      if (sent < body.length) setTimeout(next, 20_000);
      else response.end();
    };
    next();
  };
}

const stallAt =
  (bytes: number, code = 200): Answer =>
  (response) => {
    response.writeHead(code).flushHeaders();
    if (bytes > 0) response.write(LIST.slice(0, bytes));
  };

describe('a server with another one beside it', () => {
  test.each<[string, Answer]>([
    ['headers and no byte of a list', stallAt(0)],
    ['a part of a list', stallAt(100)],
    ['headers and nothing of a refusal', stallAt(0, 503)],
    [
      'one page of a list and a part of the next',
      (response, { url }) => {
        if (url?.includes('continue=') === true) stallAt(50)(response, {} as IncomingMessage);
        else response.end(LIST.replace('"10"', '"10","continue":"2"'));
      },
    ],
  ])('is left once it has sent %s for 30 s', async (_what, answer) => {
    answers[0] = answer;
    expect(await list()).toEqual([expect.stringContaining('sent nothing in a list for 30 s'), 3]);
    expect([inUse(), upstream.failover.switches]).toEqual([1, 1]);
    expect(await list()).toEqual(['listed', 0]);
  });

  test.each([
    ['a list arrive, however few', 'listed', Buffer.from(LIST), 12, {}],
    ['a compressed list arrive', 'listed', gzipSync(LIST), 12, { 'content-encoding': 'gzip' }],
    ['a list arrive that takes too long', 'for 300 s', Buffer.from(LIST), 20, {}],
  ])('stays in use while bytes of %s', async (_what, end, body, parts, headers) => {
    answers[0] = (response, request) => {
      response.writeHead(200, headers);
      drip(body, parts)(response, request);
    };
    expect(await list()).toEqual([expect.stringContaining(end), expect.any(Number)]);
    expect(upstream.failover.switches).toBe(0);
  });

  // TCP keeps the order: behind a packet that never arrives, the answers to PINGs wait too.
  test('is left once its connection has fallen silent within a list', async () => {
    const begun = Promise.withResolvers<void>();
    const started = await startHttp2Server(({ stream }) => {
      stream.respond({ ':status': 200, 'content-type': 'application/json' });
      stream.write(LIST.slice(0, 100), () => begun.resolve());
    });
    const server = closedLater(started);
    const front = closedLater(await startUrlFront(server.url.href));
    const others = { servers: [server.url] };
    ({ upstream } = upstreamTo(new URL(front.url), { ca: server.ca }, others));
    const asked = clientOf({ resource: SERVICES }).list('', signal);
    // Time passes after that only: a slow machine takes some to connect.
    await begun.promise;
    await front.begin(DROP_OLD);
    expect(await ended(asked)).toEqual([
      expect.stringContaining('has fallen silent'),
      expect.any(Number),
    ]);
    expect(upstream.address).toBe(server.url.host);
  });

  test('stays in use if a caller ends the list', async () => {
    answers[0] = stallAt(100);
    const controller = new AbortController();
    const asked = services.list('', controller.signal).catch(() => 'ended');
    await settle(() => false);
    controller.abort();
    expect([await asked, upstream.failover.switches]).toEqual(['ended', 0]);
  });

  test('is left once the first event of a watch stalls', async () => {
    const handlers = { accepted: async () => {}, events: () => {} };
    const watch = () => ended(services.watch('10', signal, handlers));
    answers[0] = (response) => response.write(EVENT + EVENT.slice(0, 20));
    await watch();
    // One that has brought events is opened again.
    expect(inUse()).toBe(0);
    answers[0] = (response) => response.write(EVENT.slice(0, 20));
    expect(await watch()).toEqual([expect.stringContaining('did not go on with an event'), 1]);
    expect(inUse()).toBe(1);
  });
});

test('two servers that both stall are left in turn, once in 30 s by all queries together', async () => {
  answers = [stallAt(100), stallAt(100)];
  const clients = [1, 2, 3].map(() => clientOf({ resource: SERVICES }));
  for (let n = 1; n <= 4; n++) {
    await ended(Promise.all(clients.map((each) => each.list('', signal).catch(() => {}))));
    expect([inUse(), upstream.failover.switches]).toEqual([n % 2, n]);
  }
});

test('the only server stays in use', async () => {
  use(1);
  answers[0] = stallAt(100);
  await list();
  expect([inUse(), upstream.failover.switches]).toEqual([0, 0]);
  answers[0] = serve;
  expect(await list()).toEqual(['listed', 0]);
});
