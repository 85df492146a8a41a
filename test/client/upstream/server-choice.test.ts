import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { freePorts } from '../../../harness/network/free-port.ts';
import type { RequestEnd } from '../../../src/client/api/request-end.ts';
import type { Upstream } from '../../../src/client/upstream/upstream.ts';
import { eventually } from '../../support/eventually.ts';
import { idleLater, startServer, type TestServer } from '../../support/http/http-server.ts';
import { readText, upstreamTo } from '../../support/http/upstream.ts';

let servers: TestServer[];
/** How the first and the second server answer now. */
let listeners: RequestListener[];
/** How a list ends. */
let end: RequestEnd;
let upstream: Upstream;

const answer: RequestListener = (_request, response) => response.end('{}');
const silence: RequestListener = () => {};

beforeEach(async () => {
  [listeners, end] = [[answer, answer], 'answered'];
  servers = await Promise.all(
    [0, 1].map(async (index) => {
      const started = await startServer((...args) => listeners[index]?.(...args));
      return idleLater(started);
    }),
  );
  upstream = between(servers);
});

function between([first, ...others]: readonly TestServer[], headersMs?: number): Upstream {
  if (first === undefined) throw new Error('no server');
  const list = async (request: Upstream['request']): Promise<void> => {
    const response = await request({ method: 'GET', path: '/list' });
    response.body.destroy();
    response.report(end);
    if (end !== 'answered') throw new Error(end);
  };
  const servers = others.map(({ url }) => url);
  return upstreamTo(first.url, {}, { servers, list, headersMs, returnMs: 20 }).upstream;
}

const get = () => upstream.request({ method: 'GET', path: '/' });
const isFirstInUse = () => upstream.address === servers[0]?.url.host;

// A header that a gateway in front of the API server resets would otherwise move all watches.
test.each([
  ['of a caller', { authorization: 'Bearer of-a-caller' }, 0],
  ['of our own', {}, 1],
])(
  'a request %s that breaks changes the server in use so often: %j, %d',
  async (_, identity, switches) => {
    listeners[0] = (_request, response) => response.destroy();
    const asked = upstream.request({ method: 'GET', path: '/', ...identity });
    await expect(asked).rejects.toMatchObject({ code: 'Unreachable' });
    expect(upstream.failover.switches).toBe(switches);
  },
);

// Behind a relay callers have an Upstream of their own, which never left an API server that was gone.
test('a request of a caller that gets no connection changes the server in use', async () => {
  const [port] = await freePorts(1);
  const others = { servers: [servers[0]?.url as URL] };
  ({ upstream } = upstreamTo(new URL(`http://127.0.0.1:${port}`), {}, others));
  const asked = () => upstream.request({ method: 'GET', path: '/', authorization: 'Bearer x' });
  await expect(asked()).rejects.toMatchObject({ code: 'Unreachable' });
  await expect(asked()).resolves.toMatchObject({ statusCode: 200 });
});

describe('a server that does not answer', () => {
  test('is given up for the next, and its requests end', async () => {
    listeners[0] = silence;
    const waiting = expect(get()).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('does not answer, and another one is tried'),
    });
    await eventually(() => servers[0]?.accepted, 1);
    const since = performance.now();
    // All queries that wait for it give it up together.
    expect([upstream.leaveServer(since), upstream.leaveServer(since)]).toEqual([true, true]);
    await waiting;
    expect([isFirstInUse(), upstream.failover.switches]).toEqual([false, 1]);
    expect(upstream.leaveServer(performance.now())).toBe(false);
  });

  test('stays in use for one query if it answers others', async () => {
    (await get()).report('answered');
    expect([upstream.leaveServer(performance.now()), isFirstInUse()]).toEqual([false, true]);
  });
});

// Behind a relay nothing else is asked of the API servers, and one that hung was asked for ever.
describe('a server that does not answer a request in the time of that request', () => {
  let lists: number;
  beforeEach(() => {
    lists = 0;
    // Other requests hang.
    listeners[0] = silence;
  });

  const answerLists: RequestListener = ({ url }, response) => {
    if (url !== '/list') return;
    lists++;
    response.end('{}');
  };

  /** Sends a request with a time limit. Resolves when it has ended. */
  async function late(request: { authorization?: string; method?: 'POST' } = {}): Promise<void> {
    const signal = AbortSignal.timeout(20);
    const asked = upstream.request({ method: 'GET', path: '/', ...request, signal });
    await expect(asked.then(({ body }) => readText(body))).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  }

  test.each([
    ['of a caller', { authorization: 'Bearer of-a-caller', method: 'POST' } as const],
    ['of our own', {}],
  ])('is left after a request %s, if it does not list either', async (_whose, request) => {
    upstream = between(servers, 100);
    await late(request);
    await eventually(isFirstInUse, false);
    expect(upstream.failover.switches).toBe(1);
  });

  // A caller could make its own requests slow.
  test('stays in use if it lists', async () => {
    listeners[0] = answerLists;
    // One may end while it is still asked because of the one before.
    for (let n = 0; n < 200 && lists < 4; n++) await late({ authorization: 'Bearer of-a-caller' });
    expect(lists).toBe(4);
    expect(upstream.failover.switches).toBe(0);
  });

  test('is left too if it has begun the response', async () => {
    upstream = between(servers, 100);
    listeners[0] = ({ url }, response) => url !== '/list' && response.write('{');
    await late();
    await eventually(isFirstInUse, false);
  });

  test('is asked once for all of them, and not for one whose caller has gone', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const asked: (string | undefined)[] = [];
    listeners[0] = ({ url }) => void asked.push(url);
    const listed = () => asked.filter((url) => url === '/list').length;
    const gone = upstream.request({ method: 'GET', path: '/', signal }).catch(() => 'gone');
    await eventually(() => asked, ['/']);
    controller.abort();
    await gone;
    await sleep(10);
    expect(asked).toEqual(['/']);
    await Promise.all([late(), late(), late()]);
    await eventually(listed, 1);
    await late();
    await sleep(10);
    expect([listed(), isFirstInUse()]).toEqual([1, true]);
  });

  test('is not asked if it is the only one', async () => {
    upstream = between(servers.slice(0, 1));
    listeners[0] = answerLists;
    await late();
    await sleep(10);
    expect(lists).toBe(0);
  });

  test('is not asked once the upstream is closed, or another one is in use', async () => {
    listeners = [answerLists, answerLists];
    upstream.failover.report(servers[0]?.url as URL, performance.now(), 'unreachable');
    upstream.doubt(servers[0]?.url);
    await upstream.close();
    upstream.doubt();
    await sleep(10);
    expect(lists).toBe(0);
  });
});

describe('the preferred server', () => {
  const leaveFirst = async (): Promise<void> => {
    listeners[0] = (_request, response) => response.destroy();
    await expect(get()).rejects.toMatchObject({ code: 'Unreachable' });
    expect(isFirstInUse()).toBe(false);
  };

  test('is used again, and watches move to it, when a list from it arrives', async () => {
    await leaveFirst();
    listeners[0] = answer;
    await eventually(isFirstInUse, true);
    expect(upstream.serverState.history.returns).toBe(1);
  });

  // Their bytes were taken for an answer, so that all watches moved to a gateway.
  test.each(['serverError', 'foreign', 'overloaded', 'mayBeAbsent'] as const)(
    'is not used again while its list ends as %s',
    async (failed) => {
      end = failed;
      await leaveFirst();
      let lists = 0;
      listeners[0] = (_request, response) => {
        lists++;
        response.end('{}');
      };
      await eventually(() => lists > 1, true);
      expect([isFirstInUse(), upstream.serverState.history.returns]).toEqual([false, 0]);
      end = 'answered';
      await eventually(isFirstInUse, true);
    },
  );
});
