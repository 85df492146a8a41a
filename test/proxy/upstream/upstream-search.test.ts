import type { RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { createUpstream, type Upstream } from '../../../src/proxy/upstream/upstream.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { answerProbe, isProbe, refuseWithStatus } from '../../support/http/api-answers.ts';
import { FakeCredentials } from '../../support/http/credentials.ts';
import { FOREIGN_ANSWERS } from '../../support/http/foreign-answers.ts';
import { idleLater, startServer, type TestServer } from '../../support/http/http-server.ts';
import { captureLogger } from '../../support/http/logger.ts';

const answer: RequestListener = (_request, response) => answerProbe(response);
const silence: RequestListener = () => {};
const refuse =
  (statusCode: number): RequestListener =>
  (_request, response) =>
    refuseWithStatus(response, statusCode);

let servers: TestServer[];
/** How the first and the second server answer now. */
let listeners: RequestListener[];
/** Number of health checks of each server. */
let probes: number[];
let found: string[];
/** The latest URL that was requested. */
let requested: string | undefined;
let upstream: Upstream;

beforeEach(async () => {
  [listeners, probes, found] = [[answer, answer], [0, 0], []];
  servers = await Promise.all(
    [0, 1].map(async (index) => {
      const started = await startServer((request, response) => {
        requested = request.url;
        if (isProbe(request.url)) probes[index] = (probes[index] ?? 0) + 1;
        listeners[index]?.(request, response);
      });
      return idleLater(started);
    }),
  );
  upstream = between(servers);
});

function between([first, ...others]: readonly TestServer[]): Upstream {
  if (first === undefined) throw new Error('no server');
  const credentials = new FakeCredentials(first.url);
  credentials.servers.push(...others.map(({ url }) => url));
  const { logger } = captureLogger();
  const created = closedLater(createUpstream({ credentials, logger }));
  created.failover.take = ({ port }) => void found.push(port);
  return created;
}

const second = () => servers[1]?.url.port;

// A header that a gateway in front of the API server resets would otherwise move all watches.
test.each([
  ['of a caller', { authorization: 'Bearer of-a-caller' }, 0],
  ['of our own', {}, 1],
])(
  'a request %s that breaks changes the server in use so often: %j, %d',
  async (_, identity, switches) => {
    listeners[0] = (_request, response) => response.destroy();
    await expect(upstream.request({ method: 'GET', path: '/', ...identity })).rejects.toMatchObject(
      {
        code: 'Unreachable',
      },
    );
    expect(upstream.failover.switches).toBe(switches);
  },
);

describe('a search among the API servers', () => {
  test('finds nothing and sends nothing if there is only one', async () => {
    await upstream.close();
    upstream = between(servers.slice(0, 1));
    expect(await upstream.search()).toBe(false);
    expect(probes).toEqual([0, 0]);
  });

  test('prefers the one in use if it answers, even if another one is faster', async () => {
    listeners[0] = async (_request, response) => {
      await eventually(() => probes[1] === 1, true);
      answerProbe(response);
    };
    expect(await upstream.search()).toBe(true);
    expect(found).toEqual([]);
  });

  test('finds the one that answers if the one in use is silent, whose requests then end', async () => {
    listeners[0] = silence;
    const waiting = expect(upstream.request({ method: 'GET', path: '/' })).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('does not answer, and another one does'),
    });
    expect(await upstream.search()).toBe(true);
    expect(found).toEqual([second()]);
    await waiting;
  });

  test('finds the only one that answers, even if the others fail faster', async () => {
    await upstream.close();
    const third = await startServer((_request, response) => response.writeHead(503).end());
    upstream = between([servers[0], third, servers[1]] as TestServer[]);
    listeners[0] = refuse(503);
    listeners[1] = async (_request, response) => {
      await eventually(() => third.accepted > 0 && third.connections.size === 0, true);
      answerProbe(response);
    };
    expect(await upstream.search()).toBe(true);
    expect(found).toEqual([second()]);
    await third.close();
  });

  test.each([
    [401, true],
    [403, true],
    [429, false],
    [500, false],
    [503, false],
  ])('whether %i is an answer: %s', async (statusCode, isAnswer) => {
    listeners[0] = refuse(statusCode);
    expect(await upstream.search()).toBe(true);
    expect(found).toEqual(isAnswer ? [] : [second()]);
    listeners[1] = refuse(statusCode);
    expect(await upstream.search()).toBe(isAnswer);
  });

  test.each(Object.entries(FOREIGN_ANSWERS))(
    'does not take %s for an API server',
    async (_, { statusCode, headers, body }) => {
      listeners[0] = (_request, response) => response.writeHead(statusCode, headers).end(body);
      expect(await upstream.probe((servers[0] as TestServer).url)).toBeUndefined();
      expect(upstream.serverState.answered).toBe(false);
      expect(await upstream.search()).toBe(true);
      expect(found).toEqual([second()]);
    },
  );

  test('is shared by concurrent callers; a later caller starts a new one', async () => {
    expect(await Promise.all([upstream.search(), upstream.search()])).toEqual([true, true]);
    expect(probes).toEqual([1, 1]);
    listeners = [refuse(503), refuse(503)];
    expect(await upstream.search()).toBe(false);
    expect(probes).toEqual([2, 2]);
  });

  test('that is running when the upstream is closed changes nothing', async () => {
    listeners[0] = silence;
    const searching = upstream.search();
    await eventually(() => probes[0] === 1, true);
    await upstream.close();
    await searching;
    expect(found).toEqual([]);
  });
});

describe('a health check', () => {
  test('is recorded in the state of the server, and leaves no connection', async () => {
    expect(await upstream.probe((servers[1] as TestServer).url)).toBe('usable');
    expect(upstream.serverState.answered).toBe(true);
    await servers[1]?.idle();
    // With a resourceVersion, a server whose etcd is lost would answer from its cache.
    expect(requested).toBe(
      '/api/v1/nodes?limit=1&fieldSelector=metadata.name%3Dnobody.kube-proxy-wrapper.io',
    );
  });

  test('fails if the response breaks off', async () => {
    listeners[0] = (_request, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('half', () => setImmediate(() => response.destroy()));
    };
    expect(await upstream.probe((servers[0] as TestServer).url)).toBeUndefined();
  });

  test('uses a new connection, because one in the pool may be dead too', async () => {
    await text((await upstream.request({ method: 'GET', path: '/' })).body);
    expect(await upstream.probe((servers[0] as TestServer).url)).toBe('usable');
    expect(servers[0]?.accepted).toBe(2);
  });
});
