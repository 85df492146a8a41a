import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { Agent } from '../../../src/proxy/upstream/agent.ts';
import { createAgentRequest } from '../../../src/proxy/upstream/exchange.ts';
import type { Outcome } from '../../../src/proxy/upstream/failover.ts';
import {
  createUpstream,
  type Upstream,
  type UpstreamOptions,
} from '../../../src/proxy/upstream/upstream.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { FakeCredentials } from '../../support/http/credentials.ts';
import { idleLater } from '../../support/http/http-server.ts';
import {
  CODES,
  type Http2TestServer,
  respondPath,
  type SeenStream,
  startHttp2Server,
} from '../../support/http/http2-server.ts';
import { captureLogger } from '../../support/http/logger.ts';
import { recordOutcomes } from '../../support/http/outcomes.ts';
import { startTcpRelay, type TcpRelay } from '../../support/http/tcp-relay.ts';

let server: Http2TestServer;
let upstream: Upstream;
let outcomes: readonly Outcome[];

type Arguments = Parameters<typeof startHttp2Server>;

async function setUp(
  onRequest?: Arguments[0],
  settings?: Arguments[1],
  options: Partial<UpstreamOptions> = {},
): Promise<void> {
  server = idleLater(await startHttp2Server(onRequest, settings));
  connectTo(server.url, options);
}

async function setUpBehindRelay(
  onRequest: Arguments[0],
  options: Partial<UpstreamOptions> = {},
): Promise<TcpRelay> {
  server = idleLater(await startHttp2Server(onRequest));
  const relay = closedLater(await startTcpRelay(server.url.href));
  connectTo(new URL(relay.url), options);
  return relay;
}

function connectTo(url: URL, options: Partial<UpstreamOptions>): void {
  const credentials = new FakeCredentials(url, { ca: server.ca });
  const { logger } = captureLogger();
  upstream = closedLater(createUpstream({ credentials, logger, ...options }));
  outcomes = recordOutcomes(upstream);
}

const get = (path: string, more: { method?: 'POST'; body?: string; signal?: AbortSignal } = {}) =>
  upstream.request({ method: 'GET', path, ...more });

const read = async (path: string) => await text((await get(path)).body);

/** Opens a watch; resolves when its headers have arrived. `end` is how it ends. */
async function watch(path = '/watch', signal?: AbortSignal) {
  const { body } = await get(path, signal === undefined ? {} : { signal });
  const chunks: string[] = [];
  const end = body
    .each((chunk) => chunks.push(String(chunk)))
    .then(
      () => 'ended',
      (error: { code?: string; message: string }) => error.code ?? error.message,
    );
  return { chunks, end };
}

/** An agent alone. The returned function sends a request, and resolves with its body. */
function startAgent(onSocket: (socket: Socket) => void): (path: string) => Promise<string> {
  const ignore = (): void => {};
  const agent = new Agent({
    server: server.url,
    tls: { ca: server.ca },
    onSocket,
    onConnect: ignore,
    onPing: ignore,
    onDead: ignore,
  });
  closedLater({ close: () => agent.destroy() });
  return async (path) => {
    const signal = AbortSignal.timeout(2_000);
    const request = createAgentRequest(server.url, { method: 'GET', path }, {}, signal);
    return await text((await agent.request(request)).body);
  };
}

/** Answers watches with headers only, and other requests with their path. */
const withWatches = (seen: SeenStream): void => {
  if (seen.headers[':path']?.startsWith('/watch')) seen.stream.respond({ ':status': 200 });
  else respondPath(seen);
};

test('informational responses without end are as silence, and end the stream alone', async () => {
  await setUp((seen) => {
    const { stream, headers } = seen;
    if (headers[':path'] !== '/endless') return respondPath(seen);
    const repeat = (): void => {
      if (stream.destroyed) return;
      stream.additionalHeaders({ ':status': 102 });
      setImmediate(repeat);
    };
    repeat();
  });
  const endless = get('/endless');
  const other = read('/other');
  await expect(endless).rejects.toMatchObject({
    code: 'Unreachable',
    message: expect.stringContaining('more than 16 responses of 1xx'),
  });
  expect(await other).toBe('/other');
  expect(outcomes).toEqual(['silent']);
  expect(server.accepted).toBe(1);
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
  test('lets the server send some MB ahead of a reader, and no more', async () => {
    const relay = await setUpBehindRelay(respondMuch);
    const chunks = (await get('/')).body[Symbol.asyncIterator]();
    await chunks.next();
    let before = -1;
    await eventually(() => {
      const isQuiet = relay.received === before && before > 3 << 20;
      before = relay.received;
      return isQuiet;
    }, true);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(relay.received).toBeLessThan(6 << 20);
  });

  test('of a reader that has stopped keeps no other waiting', async () => {
    await setUp(respondMuch);
    const slow = (await get('/slow')).body[Symbol.asyncIterator]();
    await slow.next();
    let bytes = 0;
    await (await get('/fast')).body.each((chunk) => {
      bytes += chunk.length;
    });
    expect(bytes).toBe(16 << 20);
    let rest = 0;
    for (let next = await slow.next(); !next.done; next = await slow.next()) rest++;
    expect(rest).toBeGreaterThan(0);
  });
});

describe('an abort', () => {
  test('cancels its stream and leaves the connection to the others', async () => {
    await setUp(withWatches);
    const controller = new AbortController();
    const aborted = await watch('/watch/a', controller.signal);
    const other = await watch('/watch/b');
    controller.abort(new Error('enough'));
    expect(await aborted.end).toBe('enough');
    const { stream } = await server.request(1);
    await eventually(() => stream.closed, true);
    expect(stream.rstCode).toBe(CODES.NGHTTP2_CANCEL);
    expect(server.accepted).toBe(1);
    (await server.request(2)).stream.end();
    expect(await other.end).toBe('ended');
  });
});

describe('GOAWAY', () => {
  test('lets open streams go on, and sends new requests over a new connection immediately', async () => {
    await setUp(withWatches);
    const old = await watch();
    const { stream, session } = await server.request(1);
    session.goaway(CODES.NGHTTP2_NO_ERROR);
    stream.write('event');
    await eventually(() => old.chunks.length === 1, true);
    expect(await read('/new')).toBe('/new');
    expect(server.accepted).toBe(2);
    stream.end();
    expect(await old.end).toBe('ended');
    await eventually(() => server.sessions.length === 1, true);
    expect(outcomes).not.toContain('unreachable');
  });

  // Undici puts a request that a GOAWAY refuses back into its queue, and would connect again for it.
  test('that refuses a request has it sent once more, over one new connection', async () => {
    await setUp((seen, n) => {
      if (n === 2) seen.session.goaway(CODES.NGHTTP2_NO_ERROR, 1);
      else respondPath(seen);
    });
    const sockets: Socket[] = [];
    const send = startAgent((socket) => sockets.push(socket));
    await send('/first');
    expect(await send('/refused')).toBe('/refused');
    await eventually(() => sockets[0]?.closed === true, true);
    const paths = server.seen.map(({ headers }) => headers[':path']);
    expect([paths, sockets.length]).toEqual([['/first', '/refused', '/refused'], 2]);
    // Node's session of the server waits for its stream.
    (await server.request(2)).session.destroy();
  });

  test('with ENHANCE_YOUR_CALM leaves the server alone for a while', async () => {
    await setUp((seen, n) => {
      if (n === 2) seen.session.goaway(CODES.NGHTTP2_ENHANCE_YOUR_CALM);
      else respondPath(seen);
    });
    await read('/first');
    await expect(get('/second')).rejects.toMatchObject({ code: 'Unreachable' });
    const results = await Promise.allSettled(Array.from({ length: 100 }, () => get('/more')));
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    expect(server.accepted).toBe(1);
    const later = performance.now() + 2_000;
    let answer = '';
    while (answer === '' && performance.now() < later) {
      answer = await read('/later').catch(() => '');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect([answer, server.accepted]).toEqual(['/later', 2]);
  });
});

describe('RST_STREAM', () => {
  test('before the response ends one request as Unreachable, and no other', async () => {
    await setUp((seen, n) => {
      if (n === 1) seen.stream.close(CODES.NGHTTP2_INTERNAL_ERROR);
      else withWatches(seen);
    });
    await expect(get('/')).rejects.toMatchObject({ code: 'Unreachable' });
    expect(await read('/next')).toBe('/next');
    expect([server.accepted, server.seen.length]).toEqual([1, 2]);
  });

  test('REFUSED_STREAM repeats the request, also a POST', async () => {
    await setUp((seen, n) => {
      if (n <= 2) seen.stream.close(CODES.NGHTTP2_REFUSED_STREAM);
      else respondPath(seen);
    });
    expect(await text((await get('/', { method: 'POST', body: 'x' })).body)).toBe('/');
    expect([server.seen.length, server.accepted, outcomes]).toEqual([3, 1, []]);
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
    await setUp(respondPath, { maxConcurrentStreams: 0 });
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => get('/')));
    for (const each of results) expect(each).toMatchObject({ reason: { code: 'Unreachable' } });
    expect(server.accepted).toBeLessThanOrEqual(2);
  });

  test('that is lowered later holds for the next request', async () => {
    await setUp(withWatches);
    await watch('/watch/1');
    const { session } = await server.request(1);
    await new Promise<void>((resolve) =>
      session.settings({ maxConcurrentStreams: 1 }, () => resolve()),
    );
    await watch('/watch/2');
    expect(server.accepted).toBe(2);
  });
});

describe('a connection that is lost', () => {
  test('with a request that waits repeats a GET, and never a POST', async () => {
    await setUp((seen, n) => {
      if (n === 2 || n === 4) seen.session.destroy();
      else respondPath(seen);
    });
    await read('/first');
    expect(await read('/second')).toBe('/second');
    await expect(get('/post', { method: 'POST', body: 'x' })).rejects.toMatchObject({
      code: 'Unreachable',
    });
    expect(server.seen.map(({ headers }) => headers[':path'])).toEqual([
      ...['/first', '/second', '/second'],
      '/post',
    ]);
  });
});

describe('a connection that is reset in the turn in which its handshake ends', () => {
  // A session of Node's that begins on it would never end.
  test('ends its request immediately', async () => {
    await setUp();
    // After the listener of undici.
    const send = startAgent((socket) => socket.once('secureConnect', () => socket.destroy()));
    await expect(send('/')).rejects.toThrow('the connection was closed');
  });
});

describe('a connection that is reset after a graceful GOAWAY', () => {
  // Node ignores such a reset, and ends all streams with NO_ERROR: a list would have lost its last objects.
  test('ends a body in the middle as Unreachable', async () => {
    const relay = await setUpBehindRelay(withWatches);
    const { end } = await watch();
    (await server.request(1)).session.goaway(CODES.NGHTTP2_NO_ERROR);
    // The next request has a new connection: the GOAWAY has arrived.
    expect(await read('/next')).toBe('/next');
    relay.cut();
    expect(await end).toBe('Unreachable');
  });
});

describe('a path that drops old connections and takes new ones', () => {
  test('ends a request that was sent, which is not repeated', async () => {
    const relay = await setUpBehindRelay(withWatches, { quietMs: 150 });
    await read('/first');
    relay.freezeOpen();
    await expect(get('/lost')).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('has fallen silent'),
    });
    expect(await read('/next')).toBe('/next');
    expect(server.seen.map(({ headers }) => headers[':path'])).toEqual(['/first', '/next']);
    expect(outcomes).not.toContain('unreachable');
    relay.cut();
  });
});
