import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import {
  DROP_OLD,
  HOLD,
  startUrlFront,
  type UrlFront,
} from '../../../harness/network/tcp-front.ts';
import { Line } from '../../../src/client/upstream/line.ts';
import type { Upstream } from '../../../src/client/upstream/upstream.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { startServer, type TestServer } from '../../support/http/http-server.ts';
import {
  CODES,
  type Http2TestServer,
  servingPair,
  startHttp2Server,
} from '../../support/http/http2-server.ts';
import { startRawHttp2Server } from '../../support/http/raw-http2-server.ts';
import { openWatch, upstreamTo } from '../../support/http/upstream.ts';
import { type LogLine, recordingLogger } from '../../support/recording-logger.ts';

type Served = Pick<TestServer, 'url' | 'close'> & { readonly ca?: string };

let server: Served;
let front: UrlFront;
let upstream: Upstream;
let lines: readonly LogLine[];

afterEach(() => {
  jest.useRealTimers();
});

async function connect(to: Served, quietMs?: number): Promise<void> {
  server = closedLater(to);
  front = closedLater(await startUrlFront(to.url.href));
  const tls = to.ca === undefined ? {} : { ca: to.ca };
  ({ upstream, lines } = upstreamTo(new URL(front.url), tls, { quietMs }));
}

const watch = () => openWatch(upstream.request({ method: 'GET', path: '/watch' }));

const silentLines = () => lines.filter(({ msg }) => msg.includes('has fallen silent'));

/** The time between two looks at the bytes. */
const LOOK_MS = 1_875;
describe('over HTTP/2', () => {
  let pings = 0;

  /** With the clock of the product, which is faked; the network is real. */
  async function setUp(): Promise<void> {
    pings = 0;
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    const open = startHttp2Server(({ stream, session }) => {
      stream.respond({ ':status': 200 });
      session.on('ping', () => pings++);
    });
    await connect(await open);
  }

  const pass = (looks: number) => jest.advanceTimersByTime(looks * LOOK_MS);

  /** The quiet time, and one look more: a PING is sent and answered. */
  async function passQuietTime(): Promise<void> {
    const { received } = front;
    pass(8);
    await eventually(() => front.received > received, true);
    await sleep(10);
    pass(1);
  }

  test('a connection that sends nothing is found dead within 29 s, and not before 25 s', async () => {
    await setUp();
    const watching = await watch();
    pass(1);
    await front.begin(DROP_OLD);
    pass(13);
    expect(silentLines()).toEqual([]);
    pass(2);
    await eventually(() => watching.state === 'Unreachable', true);
    // Changes of that time were missed. It counted from when the silence was noticed.
    expect(watching.error).toMatchObject({ silentMs: 25_000 });
    expect([pings, silentLines().length]).toEqual([0, 1]);
    front.cut();
  });

  test('one that answers lives, and gets 240 PINGs an hour at most', async () => {
    await setUp();
    const watching = await watch();
    const { serverState } = upstream;
    for (let looks = 0; looks < 3_600_000 / LOOK_MS; looks += 9) {
      const { lastByteAt } = serverState;
      await passQuietTime();
      expect(serverState.lastByteAt).toBeGreaterThan(lastByteAt);
    }
    expect([watching.state, silentLines()]).toEqual(['open', []]);
    expect(pings).toBeGreaterThan(190);
    expect(pings).toBeLessThanOrEqual(241);
  });

  // Answers to PINGs wait behind a large list on a slow link.
  test('one that answers no PING and sends other bytes lives', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    const { ca } = await servingPair();
    const raw = await startRawHttp2Server((peer, stream) => peer.respond(stream));
    await connect(Object.assign(raw, { ca }));
    const watching = await watch();
    for (let time = 0; time < 20; time++) {
      const before = watching.chunks.length;
      raw.peers[0]?.data(1, 'event');
      await eventually(() => watching.chunks.length > before, true);
      pass(7);
    }
    expect([watching.state, silentLines()]).toEqual(['open', []]);
  });

  // No PING is sent on it, so that it seemed dead 35 s after each GOAWAY, though it was well.
  test('one that a GOAWAY has closed lives as long as its streams', async () => {
    await setUp();
    const watching = await watch();
    const { stream, session } = await (server as Http2TestServer).request(1);
    session.goaway(CODES.NGHTTP2_NO_ERROR);
    const next = await watch();
    await eventually(() => (server as Http2TestServer).sessions.length, 2);
    for (let time = 0; time < 10; time++) await passQuietTime();
    expect([watching.state, next.state, silentLines()]).toEqual(['open', 'open', []]);
    stream.end('event');
    await eventually(() => [watching.chunks, watching.state], [['event'], 'ended']);
  });
});

// What has arrived meanwhile is read after the timers that are due.
test.each([
  ['HTTP/2', () => startHttp2Server(({ stream }) => stream.respond({ ':status': 200 }))],
  ['HTTP/1.1', () => startServer((_request, response) => response.flushHeaders())],
])('over %s, a long turn of the event loop ends nothing', async (_protocol, start) => {
  const quietMs = 100;
  await connect(await start(), quietMs);
  const watches = await Promise.all([watch(), watch()]);
  for (let turn = 0; turn < 3; turn++) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 * quietMs);
    await new Promise((resolve) => setTimeout(resolve, quietMs / 4));
  }
  expect([...watches.map(({ state }) => state), silentLines()]).toEqual(['open', 'open', []]);
});

/** A line to a relay, or to an API server. */
function lineTo(server: URL, ca: string, isRelay: boolean): Line {
  return new Line({
    server,
    tls: { ca },
    isRelay,
    sockets: new Set(),
    serverState: { reportContact: () => {}, reportBytes: () => {} },
    logger: recordingLogger().logger,
  });
}

/** Sends a request; resolves with the status code, or with why there is none. */
async function statusOf(line: Line): Promise<number | string> {
  const { signal } = new AbortController();
  try {
    return (await line.request({ method: 'GET', path: '/', signal })).statusCode;
  } catch (error) {
    return (error as Error).message;
  }
}

const answering = () =>
  startHttp2Server(({ stream }) => stream.respond({ ':status': 200 }, { endStream: true }));

// A node that starts is busy: it left its relay, although that had accepted.
test('a long turn of the event loop makes no relay seem absent', async () => {
  const { url, ca, close } = await answering();
  closedLater({ close });
  const line = lineTo(url, ca, true);
  const status = statusOf(line);
  // The connection is requested in a microtask, and the kernel accepts it meanwhile.
  for (let turn = 0; turn < 10; turn++) await null;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_100);
  expect(await status).toBe(200);
  line.close();
});

// Of fifty nodes that started together, 47 left a relay that was only busy with their handshakes.
test.each([
  ['a relay', true, 8_000, 200],
  ['a relay', true, 15_100, 'no connection within 15 s'],
  ['an API server', false, 5_100, 'no connection within 5 s'],
])(
  '%s that accepts (relay: %j) and begins TLS after %d ms is answered by %s',
  async (_, isRelay, ms, expected) => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    const { url, ca, close } = await answering();
    closedLater({ close });
    const wire = closedLater(await startUrlFront(url.href));
    const held = await wire.begin(HOLD);
    const line = lineTo(new URL(wire.url), ca, isRelay);
    const status = statusOf(line);
    await eventually(() => wire.open, 1);
    jest.advanceTimersByTime(ms);
    await new Promise((resolve) => setImmediate(resolve));
    await held.end();
    expect(await status).toBe(expected);
    line.close();
  },
);
