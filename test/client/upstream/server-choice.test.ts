import type { RequestListener } from 'node:http';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { freePorts } from '../../../harness/network/free-port.ts';
import type { RequestEnd } from '../../../src/client/api/request-end.ts';
import type { Upstream } from '../../../src/client/upstream/upstream.ts';
import { eventually } from '../../support/eventually.ts';
import { idleLater, startServer, type TestServer } from '../../support/http/http-server.ts';
import { upstreamTo } from '../../support/http/upstream.ts';

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

function between([first, ...others]: readonly TestServer[]): Upstream {
  if (first === undefined) throw new Error('no server');
  const list = async (request: Upstream['request']): Promise<void> => {
    const response = await request({ method: 'GET', path: '/list' });
    response.body.destroy();
    response.report(end);
    if (end !== 'answered') throw new Error(end);
  };
  const servers = others.map(({ url }) => url);
  return upstreamTo(first.url, {}, { servers, list, returnMs: 20 }).upstream;
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
