import { getEventListeners } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import type { Upstream } from '../../../src/client/upstream/upstream.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { CODES, servingPair } from '../../support/http/http2-server.ts';
import {
  type RawHttp2Connection,
  type RawHttp2Server,
  startRawHttp2Server,
} from '../../support/http/raw-http2-server.ts';
import { openWatch, readText, upstreamTo } from '../../support/http/upstream.ts';

/*
 * What a server may do that Node's own server does not: each frame is written by hand.
 */
let server: RawHttp2Server;
let upstream: Upstream;

/** @param onStream called for each request; `n` counts them over all connections, from 1 */
async function setUp(
  onStream: (connection: RawHttp2Connection, stream: number, n: number) => void,
): Promise<void> {
  let n = 0;
  const started = startRawHttp2Server((connection, stream) => onStream(connection, stream, ++n));
  server = closedLater(await started);
  const { ca } = await servingPair();
  ({ upstream } = upstreamTo(server.url, { ca }));
}

const get = (more: { method?: 'POST'; body?: string; signal?: AbortSignal } = {}) =>
  upstream.request({ method: 'GET', path: '/', ...more });

const open = () => openWatch(get());

const respond = (connection: RawHttp2Connection, stream: number): void => {
  connection.respond(stream);
};

const respondWhole = (connection: RawHttp2Connection, stream: number): void => {
  connection.respond(stream);
  connection.data(stream, 'ok');
  connection.end(stream);
};

const first = () => server.peers[0] as RawHttp2Connection;

test('a server without SETTINGS lets each request end by its time limit', async () => {
  server = closedLater(await startRawHttp2Server(() => {}, { settings: false }));
  const { ca } = await servingPair();
  ({ upstream } = upstreamTo(server.url, { ca }, { headersMs: 200 }));
  for (const _ of ['at once', 'later']) {
    const outcomes = await Promise.allSettled([get(), get(), get()]);
    const problem = { code: 'Unreachable', message: expect.stringContaining('within 0.2 s') };
    const rejected = { status: 'rejected', reason: expect.objectContaining(problem) };
    expect(outcomes).toEqual(Array(3).fill(rejected));
  }
});

test('a connection that is lost before its SETTINGS ends all that wait for it', async () => {
  const lose = ({ socket }: RawHttp2Connection) => void socket.destroy();
  server = closedLater(await startRawHttp2Server(lose, { settings: false }));
  const { ca } = await servingPair();
  ({ upstream } = upstreamTo(server.url, { ca }));
  const outcomes = await Promise.allSettled([get(), get(), get()]);
  const problem = { code: 'Unreachable', message: expect.not.stringContaining('no response') };
  const rejected = { status: 'rejected', reason: expect.objectContaining(problem) };
  expect(outcomes).toEqual(Array(3).fill(rejected));
});

describe('a body', () => {
  test.each([
    'NGHTTP2_INTERNAL_ERROR',
    'NGHTTP2_ENHANCE_YOUR_CALM',
    'NGHTTP2_REFUSED_STREAM',
  ] as const)('that RST_STREAM %s breaks off is Unreachable, and no other is', async (name) => {
    await setUp(respond);
    const [one, other] = [await open(), await open()];
    first().data(1, 'half');
    await eventually(() => one.chunks.length === 1, true);
    first().reset(1, CODES[name]);
    expect(await one.end).toBe('Unreachable');
    first().data(3, 'more');
    await eventually(() => other.chunks.length === 1, true);
    expect(server.peers).toHaveLength(1);
  });

  test.each([
    ['FIN', (connection: RawHttp2Connection) => void connection.socket.end()],
    ['the socket', (connection: RawHttp2Connection) => void connection.socket.destroy()],
    ['GOAWAY', (connection: RawHttp2Connection) => connection.goaway(1, 2)],
  ])('whose connection ends by %s is Unreachable', async (_what, end) => {
    await setUp(respond);
    const one = await open();
    first().data(1, 'half');
    await eventually(() => one.chunks.length === 1, true);
    end(first());
    expect(await one.end).toBe('Unreachable');
  });

  // Node counts such a stream as closed: `finished` said so, and a watch with an ERROR event ended before that was
  // read.
  test('that is complete before it is read is whole', async () => {
    await setUp(respondWhole);
    const { body } = await get();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await readText(body)).toBe('ok');
  });

  test('that is complete and unread ends with its signal', async () => {
    await setUp(respondWhole);
    const controller = new AbortController();
    const { body } = await get({ signal: controller.signal });
    await new Promise((resolve) => setTimeout(resolve, 20));
    controller.abort(new Error('enough'));
    await expect(readText(body)).rejects.toThrow('enough');
  });
});

describe('GOAWAY', () => {
  test('repeats what is above its last stream, also a POST, on a new connection', async () => {
    await setUp((connection, stream, n) => {
      if (n === 1) connection.respond(stream);
      else if (n === 2) connection.goaway(1, CODES.NGHTTP2_NO_ERROR);
      else respondWhole(connection, stream);
    });
    const watch = await open();
    expect(await readText((await get({ method: 'POST', body: 'x' })).body)).toBe('ok');
    expect(server.peers.map(({ streams }) => streams)).toEqual([[1, 3], [1]]);
    first().data(1, 'event');
    await eventually(() => watch.chunks.length === 1, true);
    first().end(1);
    expect(await watch.end).toBe('ended');
    await eventually(() => first().socket.destroyed, true);
  });

  test('does not repeat what it covers', async () => {
    await setUp((connection, stream) => {
      connection.goaway(stream, CODES.NGHTTP2_INTERNAL_ERROR);
    });
    await expect(get({ method: 'POST', body: 'x' })).rejects.toMatchObject({ code: 'Unreachable' });
    expect(server.peers.map(({ streams }) => streams)).toEqual([[1]]);
  });
});

describe('a response whose headers arrive together with', () => {
  test.each([
    ['RST_STREAM', (connection: RawHttp2Connection, stream: number) => connection.reset(stream, 2)],
    ['GOAWAY and an error', (connection: RawHttp2Connection) => connection.goaway(1, 2)],
    ['FIN', (connection: RawHttp2Connection) => void connection.socket.end()],
  ])('%s leaves nothing behind at a signal that outlives it', async (_what, end) => {
    await setUp((connection, stream) => {
      connection.socket.cork();
      connection.respond(stream);
      end(connection, stream);
      connection.socket.uncork();
    });
    const { signal } = new AbortController();
    const result = await get({ signal }).then(
      ({ body }) => body.read(() => {}).catch(({ code }) => code),
      ({ code }) => code,
    );
    expect(result).toBe('Unreachable');
    await eventually(() => getEventListeners(signal, 'abort').length === 0, true);
  });
});
