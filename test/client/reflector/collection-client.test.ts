import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Query } from '../../../src/client/api/query.ts';
import { DEFAULT_READ_LIMITS } from '../../../src/client/api/read-limits.ts';
import { endOf } from '../../../src/client/api/request-error.ts';
import { CollectionClient } from '../../../src/client/reflector/collection-client.ts';
import { SERVICES } from '../../../src/filter/objects/resource.ts';
import { eventually } from '../../support/eventually.ts';
import { recordOutcomes } from '../../support/http/outcomes.ts';
import { useUpstream } from '../../support/http/upstream.ts';

/** Closes the connections of the latest client. */
let closeConnections: () => Promise<void>;
const QUERY = {
  resource: SERVICES,
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
  encoding: 'json',
} as const;
const { signal } = new AbortController();
const HANDLERS = { accepted: async () => {}, events: () => {} };

/** A client of an API server with this handler. */
async function clientOf(
  answer: (query: URLSearchParams, response: ServerResponse) => void,
  { query = QUERY as Query, maxObjects = 200_000 } = {},
) {
  const { upstream } = await useUpstream((request, response) => {
    response.setHeader('content-type', 'application/json');
    answer(new URL(request.url ?? '', 'http://x').searchParams, response);
  });
  const readLimits = { ...DEFAULT_READ_LIMITS, maxObjects };
  const client = new CollectionClient({ upstream, readLimits, query });
  closeConnections = () => upstream.close();
  return { client, upstream };
}

/** Three pages of two objects each. */
function inPages(query: URLSearchParams, response: ServerResponse): void {
  const page = Number(query.get('continue') ?? 0);
  const items = [0, 1].map((n) => ({ metadata: { name: `s${page * 2 + n}` } }));
  const more = page < 2 ? { continue: String(page + 1) } : {};
  const metadata = { resourceVersion: '10', ...more };
  response.end(JSON.stringify({ kind: 'ServiceList', metadata, items }));
}

describe('a list that comes in pages', () => {
  test('is read to its end, each page with the token of the one before and nothing else', async () => {
    const queries: string[] = [];
    const { client } = await clientOf((query, response) => {
      queries.push(String(query));
      inPages(query, response);
    });
    const { items, resourceVersion } = await client.list('7', signal);
    const names = items.map((item) => (JSON.parse(String(item)) as Named).metadata.name);
    expect(names).toEqual(['s0', 's1', 's2', 's3', 's4', 's5']);
    expect(resourceVersion).toBe('10');
    expect(queries).toEqual(['resourceVersion=7', 'continue=1', 'continue=2']);
  });

  test('is refused as soon as all of them are too many', async () => {
    let pages = 0;
    const { client } = await clientOf(
      (query, response) => {
        pages++;
        inPages(query, response);
      },
      { maxObjects: 3 },
    );
    await expect(client.list('', signal)).rejects.toMatchObject({
      code: 'TooLarge',
      message: 'there are more than 3 objects, the limit of a collection',
    });
    expect(pages).toBe(2);
  });
});

test.each([
  ['of another kind', { kind: 'ConfigMapList', metadata: { resourceVersion: '10' } }],
  ['without a resourceVersion', { kind: 'ServiceList', metadata: {} }],
])('an empty list %s is foreign: no object has gone', async (problem, list) => {
  const { client } = await clientOf((_query, response) => {
    response.end(JSON.stringify({ ...list, items: [] }));
  });
  await expect(client.list('', signal)).rejects.toMatchObject({
    code: 'Unreachable',
    message: expect.stringContaining(problem.startsWith('of') ? 'ConfigMapList' : problem),
  });
});

// The node then watched from it for ever: no API server reaches such a version.
test.each(['9223372036854775808', `1${'0'.repeat(22)}`, 'x', '-1'])(
  'a list with the resourceVersion %s is not used',
  async (resourceVersion) => {
    const { client } = await clientOf((_query, response) => {
      response.end(
        JSON.stringify({ kind: 'ServiceList', metadata: { resourceVersion }, items: [] }),
      );
    });
    await expect(client.list('', signal)).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining(resourceVersion),
    });
  },
);

interface Named {
  readonly metadata: { readonly name: string };
}

test('a list is requested compressed, a watch is not', async () => {
  const encodings: (string | undefined)[] = [];
  const { client } = await clientOf((query, response) => {
    encodings.push(response.req.headers['accept-encoding']);
    if (query.has('watch')) response.end();
    else inPages(new URLSearchParams({ continue: '2' }), response);
  });
  await client.list('', signal);
  await client.watch('10', signal, HANDLERS);
  expect(encodings).toEqual(['gzip', undefined]);
});

test('a list in another encoding counts as a list: the third in a row waits', async () => {
  let lists = 0;
  const { client } = await clientOf((_query, response) => {
    lists++;
    response.setHeader('content-type', 'application/vnd.kubernetes.protobuf').end('k8s');
  });
  for (const _ of [1, 2]) {
    await expect(client.list('', signal)).rejects.toMatchObject({ code: 'Unreachable' });
  }
  await expect(client.list('', AbortSignal.timeout(300))).rejects.toThrow();
  expect(lists).toBe(2);
});

test.each([
  ['in the header', { 'retry-after': '7' }, {}, 7],
  ['in the Status', {}, { details: { retryAfterSeconds: 8 } }, 8],
  ['nowhere', {}, {}, undefined],
  ['as zero', { 'retry-after': '0' }, {}, undefined],
])('Retry-After %s of a refusal is kept', async (_where, headers, more, seconds) => {
  const { client } = await clientOf((_query, response) => {
    const status = { kind: 'Status', reason: 'TooManyRequests', message: 'not now', ...more };
    response.writeHead(429, headers).end(JSON.stringify(status));
  });
  await expect(client.list('', signal)).rejects.toMatchObject({
    code: 'Refused',
    message: expect.stringContaining('not now'),
    status: { code: 429, reason: 'TooManyRequests', retryAfterSeconds: seconds },
  });
});

describe('events that arrive together', () => {
  const EVENTS = 2_000;
  const eventOf = (version: number): string =>
    `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: `${version}` } } })}\n`;

  test('are handed over in few batches, and none of them exceeds the window of a view', async () => {
    const { client } = await clientOf((_query, response) => {
      response.end(Array.from({ length: EVENTS }, (_, n) => eventOf(11 + n)).join(''));
    });
    const batches: number[] = [];
    const events = ({ length }: readonly unknown[]) => void batches.push(length);
    await client.watch('10', signal, { ...HANDLERS, events });
    expect(batches.reduce((sum, count) => sum + count)).toBe(EVENTS);
    // The smallest window; see RESERVED_WINDOW.
    expect(Math.max(...batches)).toBeLessThan(1_000);
    expect(batches.length).toBeLessThan(EVENTS / 100);
  });

  test('are dropped if the watch is aborted before they are handed over', async () => {
    const controller = new AbortController();
    const reason = new Error('another history');
    let batches = 0;
    const read = async (use: (chunks: readonly Buffer[]) => void): Promise<void> => {
      controller.abort(reason);
      use([Buffer.from(eventOf(11))]);
    };
    const headers = { 'content-type': 'application/json' };
    const request = async () => ({ statusCode: 200, headers, body: { read } }) as never;
    const options = { upstream: { request }, readLimits: DEFAULT_READ_LIMITS, query: QUERY };
    const client = new CollectionClient(options);
    const handlers = { ...HANDLERS, events: () => void batches++ };
    await expect(client.watch('10', controller.signal, handlers)).rejects.toBe(reason);
    expect(batches).toBe(0);
  });
});

describe('with a manual clock', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  });
  afterEach(() => void jest.useRealTimers());

  /** Waits until no timer is left but those of the connections. */
  async function noTimers(): Promise<void> {
    await closeConnections();
    for (let turn = 0; turn < 1000 && jest.getTimerCount() > 0; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(jest.getTimerCount()).toBe(0);
  }

  const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '11' } } };

  async function watching() {
    const begun = Promise.withResolvers<ServerResponse>();
    const { client, upstream } = await clientOf((_query, response) => {
      response.flushHeaders();
      begun.resolve(response);
    });
    const opened = Promise.withResolvers<void>();
    let batches = 0;
    const handlers = { accepted: async () => opened.resolve(), events: () => void batches++ };
    const ended = client.watch('10', signal, handlers);
    await opened.promise;
    const outcomes = recordOutcomes(upstream);
    return { ended, response: await begun.promise, batches: () => batches, outcomes };
  }

  test('a watch is ended after 90 s without a complete event, and not sooner', async () => {
    const { ended, response, batches, outcomes } = await watching();
    for (let n = 1; n <= 3; n++) {
      jest.advanceTimersByTime(89_999);
      response.write(`${JSON.stringify(bookmark)}\n`);
      await eventually(() => batches() === n, true);
    }
    // Each event ends a row of 5xx that another query gets: three in hours moved all of them to the next server.
    expect(outcomes).toEqual(['answered', 'answered', 'answered']);
    jest.advanceTimersByTime(89_999);
    // Half an event does not count.
    response.write('{"type":');
    jest.advanceTimersByTime(1);
    await expect(ended).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('completed no event for 90 s'),
      // Changes of that time were missed.
      silentMs: 90_000,
    });
  });

  // Foreign bytes that begin as an event were noticed only after 90 s, or when the next event ended them.
  test('a watch is ended when an event has begun and does not go on for 10 s', async () => {
    const { ended, response, batches } = await watching();
    response.write(`${JSON.stringify(bookmark)}\n`);
    await eventually(() => batches(), 1);
    jest.advanceTimersByTime(60_000);
    const timers = jest.getTimerCount();
    response.write('{"type":');
    await eventually(() => jest.getTimerCount() > timers, true);
    jest.advanceTimersByTime(10_000);
    await expect(ended).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('did not go on with an event for 10 s'),
    });
  });

  test('a watch that breaks off within an event counts as an API server that is gone', async () => {
    const { ended, response } = await watching();
    response.end('{"type":');
    await expect(ended).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('within an event'),
    });
  });

  test('a watch that the API server ends reports whether it was in time, and leaves no timer', async () => {
    const { ended, response } = await watching();
    response.end();
    expect(await ended).toBe(false);
    await noTimers();
  });

  test.each([
    ['a list whose body sends nothing for 30 s', 200, false, 'sent nothing in a list for 30 s'],
    ['a list that goes on byte by byte for 5 minutes', 200, true, 'did not end a list for 300 s'],
    // Only the limit of a whole list applied.
    ['a refusal whose body sends nothing for 30 s', 503, false, 'sent nothing in a list for 30 s'],
  ])('%s is ended', async (_what, code, drips, problem) => {
    const begun = Promise.withResolvers<ServerResponse>();
    const { client, upstream } = await clientOf((_query, response) => {
      response.writeHead(code).write(' ');
      begun.resolve(response);
    });
    let failure: Error | undefined;
    const listed = client.list('', signal).catch((error) => {
      failure = error;
    });
    const response = await begun.promise;
    const { serverState } = upstream;
    await eventually(() => serverState.lastContactAt === performance.now(), true);
    for (let n = 0; n < 20 && failure === undefined; n++) {
      await new Promise((resolve) => setImmediate(resolve));
      jest.advanceTimersByTime(15_000);
      if (!drips || n === 19) continue;
      response.write(' ');
      await eventually(() => serverState.lastContactAt === performance.now(), true);
    }
    await listed;
    expect(failure?.message).toContain(problem);
    await noTimers();
  });
});

// The objects overflowed the stack as arguments of one call.
test('a page of 200,000 objects is read', async () => {
  const items = Array.from({ length: 200_000 }, (_, n) => ({ metadata: { name: `s${n}` } }));
  const list = { kind: 'ServiceList', metadata: { resourceVersion: '10' }, items };
  const { client } = await clientOf((_query, response) => void response.end(JSON.stringify(list)));
  const listed = await client.list('0', signal);
  expect(listed.items).toHaveLength(200_000);
  expect(String(listed.items.at(-1))).toBe('{"metadata":{"name":"s199999"}}');
});

// The 504 of an API server behind our version was not recognised, so that a node set never listed again.
test('an error in JSON is decoded when metadata was requested in protobuf', async () => {
  const status = {
    kind: 'Status',
    status: 'Failure',
    code: 504,
    reason: 'Timeout',
    message: 'Too large resource version: 693, current: 650',
    details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large' }] },
  };
  const { client } = await clientOf(
    (_query, response) => void response.writeHead(504).end(JSON.stringify(status)),
    { query: { ...QUERY, encoding: 'protobuf', metadataOnly: true } },
  );
  const refused = await client.list('693', signal).catch((error) => error);
  expect(refused).toMatchObject({ code: 'Refused', message: expect.stringContaining('693') });
  expect(endOf(refused)).toBe('behind');
});
