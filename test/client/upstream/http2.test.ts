import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { DROP_OLD, startUrlFront, type UrlFront } from '../../../harness/network/tcp-front.ts';
import type { RequestEnd } from '../../../src/client/api/request-end.ts';
import { Line } from '../../../src/client/upstream/line.ts';
import type { Upstream, UpstreamOptions } from '../../../src/client/upstream/upstream.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { idleLater } from '../../support/http/http-server.ts';
import {
  CODES,
  type Http2TestServer,
  respondPath,
  type SeenStream,
  startHttp2Server,
} from '../../support/http/http2-server.ts';
import { recordOutcomes } from '../../support/http/outcomes.ts';
import { openWatch, readText, upstreamTo } from '../../support/http/upstream.ts';
import { recordingLogger } from '../../support/recording-logger.ts';

let server: Http2TestServer;
let upstream: Upstream;
let outcomes: readonly RequestEnd[];

afterEach(() => {
  jest.restoreAllMocks();
});

type Arguments = Parameters<typeof startHttp2Server>;

async function setUp(
  onRequest?: Arguments[0],
  settings?: Arguments[1],
  options: Partial<UpstreamOptions> = {},
): Promise<void> {
  server = idleLater(await startHttp2Server(onRequest, settings));
  connectTo(server.url, options);
}

async function setUpBehindFront(
  onRequest: Arguments[0],
  options: Partial<UpstreamOptions> = {},
): Promise<UrlFront> {
  server = idleLater(await startHttp2Server(onRequest));
  const front = closedLater(await startUrlFront(server.url.href));
  connectTo(new URL(front.url), options);
  return front;
}

function connectTo(url: URL, options: Partial<UpstreamOptions>): void {
  ({ upstream } = upstreamTo(url, { ca: server.ca }, options));
  outcomes = recordOutcomes(upstream);
}

const get = (path: string, more: { method?: 'POST'; body?: string; signal?: AbortSignal } = {}) =>
  upstream.request({ method: 'GET', path, ...more });

const read = async (path: string) => await readText((await get(path)).body);

const watch = (path = '/watch', more: { signal?: AbortSignal } = {}) => openWatch(get(path, more));

/** Answers watches with headers only, and other requests with their path. */
const withWatches = (seen: SeenStream): void => {
  if (seen.headers[':path']?.startsWith('/watch')) seen.stream.respond({ ':status': 200 });
  else respondPath(seen);
};

// Sent again, a request that hangs at the server would take twice the time.
test('informational responses without end are as silence, and end the stream alone, which is not sent again', async () => {
  const endlessly = (seen: SeenStream): void => {
    const { stream, headers } = seen;
    if (headers[':path'] !== '/endless') {
      respondPath(seen);
      return;
    }
    const repeat = (): void => {
      if (stream.destroyed) return;
      stream.additionalHeaders({ ':status': 102 });
      setImmediate(repeat);
    };
    repeat();
  };
  await setUp(endlessly, undefined, { headersMs: 2_000 });
  const endless = get('/endless');
  const other = read('/other');
  await expect(endless).rejects.toMatchObject({
    code: 'Unreachable',
    message: expect.stringContaining('no response within 2 s'),
  });
  expect(await other).toBe('/other');
  expect(outcomes).toEqual(['unreachable']);
  expect([server.accepted, server.seen.length]).toEqual([1, 2]);
});

describe('HTTP/2', () => {
  test('needs one connection for any number of requests and watches', async () => {
    await setUp(withWatches);
    const watches = await Promise.all(Array.from({ length: 30 }, (_, n) => watch(`/watch/${n}`)));
    expect(await Promise.all(['/a', '/b'].map(read))).toEqual(['/a', '/b']);
    expect([server.accepted, server.seen.length]).toEqual([1, 32]);
    for (const { stream } of server.seen) stream.end();
    expect(await Promise.all(watches.map(({ end }) => end))).toEqual(Array(30).fill('ended'));
  });

  // undici counts a connection as busy until the server's SETTINGS are there, and would open another one.
  test('needs one connection on a slow link, also after it was lost', async () => {
    const front = await setUpBehindFront(withWatches);
    await front.begin({ kind: 'delay', ms: [30, 30] });
    const some = (name: string) =>
      Promise.all(Array.from({ length: 5 }, (_, n) => watch(`/watch/${name}/${n}`)));
    await some('first');
    expect(front.accepted.length).toBe(1);
    front.cut();
    await some('second');
    expect(front.accepted.length).toBe(2);
  });

  test.each([0, 40, 80, 120, 160])(
    'a request that is aborted %d ms after it has opened the connection keeps no other waiting',
    async (ms) => {
      const front = await setUpBehindFront(withWatches);
      await front.begin({ kind: 'delay', ms: [30, 30] });
      for (const name of ['first', 'second']) {
        const controller = new AbortController();
        const aborted = get(`/watch/${name}/a`, { signal: controller.signal });
        const others = [watch(`/watch/${name}/b`), watch(`/watch/${name}/c`)];
        const outcome = expect(aborted.then(({ body }) => readText(body))).rejects.toThrow(
          'enough',
        );
        await sleep(ms);
        controller.abort(new Error('enough'));
        await outcome;
        await Promise.all(others);
        front.cut();
        await Promise.all((await Promise.all(others)).map(({ end }) => end));
      }
      expect(await read('/later')).toBe('/later');
    },
  );
});

/** A response of 16 MB. */
function respondMuch({ stream }: SeenStream): void {
  const chunk = Buffer.alloc(1 << 20);
  stream.respond({ ':status': 200 });
  for (let n = 0; n < 16; n++) stream.write(chunk);
  stream.end();
}

describe('flow control', () => {
  // With the default windows of 64 KB, 16 MB over a round trip of 100 ms would take 26 s.
  test('lets the server send some MB of a body that is not read, and no more', async () => {
    const front = await setUpBehindFront(respondMuch);
    const { body } = await get('/');
    let before = -1;
    await eventually(() => {
      const isQuiet = front.received === before && before > 3 << 20;
      before = front.received;
      return isQuiet;
    }, true);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(front.received).toBeLessThan(6 << 20);
    body.destroy();
  });

  test('of a body that is not read keeps no other waiting', async () => {
    await setUp(respondMuch);
    const slow = await get('/slow');
    for (const { body } of [await get('/fast'), slow]) {
      expect((await readText(body)).length).toBe(16 << 20);
    }
  });
});

describe('an abort', () => {
  test('cancels its stream and leaves the connection to the others', async () => {
    await setUp(withWatches);
    const controller = new AbortController();
    const aborted = await watch('/watch/a', { signal: controller.signal });
    const other = await watch('/watch/b');
    controller.abort(new Error('enough'));
    expect(await aborted.end).toBe('enough');
    const { stream } = await server.request(1);
    await eventually(() => stream.closed, true);
    expect(server.accepted).toBe(1);
    (await server.request(2)).stream.end();
    expect(await other.end).toBe('ended');
  });
});

describe('GOAWAY', () => {
  // A Client that connects again beside its old streams takes those of both connections for one order.
  test('lets open streams go on, whatever happens to the new connection', async () => {
    await setUp(withWatches);
    const old = await watch();
    const { stream, session } = await server.request(1);
    session.goaway(CODES.NGHTTP2_NO_ERROR);
    await eventually(async () => {
      await read('/until-it-has-arrived');
      return server.accepted;
    }, 2);
    const ends = [];
    for (const isGoaway of [true, false]) {
      const next = await watch();
      const { session: another } = server.seen.at(-1) as SeenStream;
      if (isGoaway) another.goaway(CODES.NGHTTP2_NO_ERROR, 0);
      another.destroy();
      ends.push(await next.end);
    }
    expect(ends).toEqual(['Unreachable', 'Unreachable']);
    stream.end('event');
    expect([await old.end, old.chunks]).toEqual(['ended', ['event']]);
  });

  test('that refuses a request does not bring a POST again that it covers', async () => {
    await setUp((seen, n) => {
      const path = seen.headers[':path'];
      if (path === '/post') return;
      if (path !== '/refused') withWatches(seen);
      else if (n === 3) seen.session.goaway(CODES.NGHTTP2_NO_ERROR, 3);
      else seen.session.destroy();
    });
    const old = await watch();
    const { session } = await server.request(1);
    const post = expect(get('/post', { method: 'POST', body: 'x' })).rejects.toMatchObject({
      code: 'Unreachable',
    });
    await server.request(2);
    await expect(get('/refused')).rejects.toMatchObject({ code: 'Unreachable' });
    expect(await read('/next')).toBe('/next');
    session.destroy();
    await Promise.all([post, old.end]);
    const paths = server.seen.map(({ headers }) => headers[':path']);
    expect(paths.filter((path) => path === '/post')).toHaveLength(1);
  });

  // A Client whose old streams go on tells its requests nothing, and tries again without a pause.
  test('that refuses a request ends it if the server takes no connection', async () => {
    const front = await setUpBehindFront((seen, n) => {
      if (n === 2) seen.session.goaway(CODES.NGHTTP2_NO_ERROR, 1);
      else withWatches(seen);
    });
    const old = await watch();
    const refusal = await front.begin({ kind: 'refuse', keepsOpen: true });
    const attempts = jest.spyOn(Socket.prototype, 'setKeepAlive');
    await expect(get('/refused')).rejects.toMatchObject({ code: 'Unreachable' });
    expect(await old.end).toBe('Unreachable');
    expect(attempts.mock.calls.length).toBeLessThan(5);
    await refusal.end();
    expect(await read('/next')).toBe('/next');
    for (const session of [...server.sessions]) session.destroy();
  });
});

describe('RST_STREAM', () => {
  test('before the response ends one request as Unreachable, and no other', async () => {
    await setUp((seen, n) => {
      if (n === 1) seen.stream.close(CODES.NGHTTP2_INTERNAL_ERROR);
      else withWatches(seen);
    });
    const post = get('/', { method: 'POST', body: 'x' });
    await expect(post).rejects.toMatchObject({ code: 'Unreachable' });
    expect(await read('/next')).toBe('/next');
    expect([server.accepted, server.seen.length]).toEqual([1, 2]);
  });

  test('REFUSED_STREAM repeats the request, also a POST', async () => {
    await setUp((seen, n) => {
      if (n === 1) seen.stream.close(CODES.NGHTTP2_REFUSED_STREAM);
      else respondPath(seen);
    });
    expect(await readText((await get('/', { method: 'POST', body: 'x' })).body)).toBe('/');
    expect([server.seen.length, server.accepted, outcomes]).toEqual([2, 1, []]);
  });

  test('REFUSED_STREAM without end ends the request', async () => {
    await setUp(({ stream }) => stream.close(CODES.NGHTTP2_REFUSED_STREAM));
    await expect(get('/')).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('REFUSED_STREAM'),
    });
    expect(server.seen.length).toBeLessThan(10);
  });
});

describe('SETTINGS_MAX_CONCURRENT_STREAMS', () => {
  test('opens further connections for more watches, which close when they are idle', async () => {
    await setUp(withWatches, { maxConcurrentStreams: 3 });
    const watches = await Promise.all(Array.from({ length: 10 }, (_, n) => watch(`/watch/${n}`)));
    expect(server.accepted).toBe(4);
    expect(await read('/more')).toBe('/more');
    expect(server.accepted).toBe(4);
    for (const { stream } of server.seen) stream.end();
    expect(await Promise.all(watches.map(({ end }) => end))).toEqual(Array(10).fill('ended'));
    expect(await read('/again')).toBe('/again');
    expect(server.accepted).toBe(4);
  });

  test('of 0 fails requests, and opens few connections', async () => {
    await setUp(respondPath, { maxConcurrentStreams: 0 }, { headersMs: 500 });
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => get('/')));
    for (const each of results) expect(each).toMatchObject({ reason: { code: 'Unreachable' } });
    expect(server.accepted).toBeLessThanOrEqual(2);
  });
});

describe('a connection that is reset in the turn in which its handshake ends', () => {
  // A session of Node's that begins on it would never end.
  test('ends its request immediately', async () => {
    await setUp();
    class Sockets extends Set<Socket> {
      override add(socket: Socket): this {
        socket.once('secureConnect', () => process.nextTick(() => socket.destroy()));
        return super.add(socket);
      }
    }
    const line = new Line({
      server: server.url,
      tls: { ca: server.ca },
      sockets: new Sockets(),
      serverState: upstream.serverState,
      logger: recordingLogger().logger,
    });
    const signal = AbortSignal.timeout(2_000);
    const asked = line.request({ method: 'GET', path: '/', signal });
    await expect(asked).rejects.toThrow('the connection was closed');
  });
});

describe('a path that drops old connections and takes new ones', () => {
  test('ends a request that was sent, which is repeated if it is a GET', async () => {
    const front = await setUpBehindFront(withWatches, { quietMs: 150 });
    await read('/first');
    await front.begin(DROP_OLD);
    const post = expect(get('/post', { method: 'POST', body: 'x' })).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('has fallen silent'),
    });
    expect(await read('/get')).toBe('/get');
    await post;
    expect(server.seen.map(({ headers }) => headers[':path'])).toEqual(['/first', '/get']);
    front.cut();
  });
});
