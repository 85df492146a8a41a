import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { createUpstream, type Upstream } from '../../../src/proxy/upstream/upstream.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { FakeCredentials } from '../../support/http/credentials.ts';
import { startServer, type TestServer } from '../../support/http/http-server.ts';
import { type Http2TestServer, startHttp2Server } from '../../support/http/http2-server.ts';
import { captureLogger } from '../../support/http/logger.ts';
import { startTcpRelay, type TcpRelay } from '../../support/http/tcp-relay.ts';

let server: TestServer | Http2TestServer;
let relay: TcpRelay;
let upstream: Upstream;
let lines: readonly string[];

afterEach(() => {
  jest.useRealTimers();
});

async function connect(to: TestServer | Http2TestServer, quietMs?: number): Promise<void> {
  server = closedLater(to);
  relay = closedLater(await startTcpRelay(to.url.href));
  const captured = captureLogger();
  lines = captured.lines;
  const tls = 'ca' in to ? { ca: to.ca } : {};
  const credentials = new FakeCredentials(new URL(relay.url), tls);
  upstream = closedLater(createUpstream({ credentials, logger: captured.logger, quietMs }));
}

/** Opens a watch, by default one that brings nothing; `state` is how it ends. */
async function watch(path = '/watch') {
  const { body } = await upstream.request({ method: 'GET', path });
  const watching = { state: 'open', chunks: 0, stop: () => body.destroy() };
  void body
    .each(() => {
      watching.chunks++;
    })
    .then(
      () => {
        watching.state = 'ended';
      },
      ({ code }: { code: string }) => {
        watching.state = code;
      },
    );
  return watching;
}

const silentLines = () => lines.filter((line) => line.includes('has fallen silent'));

/** The time between two looks at the bytes. */
const LOOK_MS = 2_500;
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

  test('a connection that sends nothing is found dead within 33 s, and not before 27.5 s', async () => {
    await setUp();
    const watching = await watch();
    pass(1);
    relay.freezeOpen();
    pass(11);
    expect(silentLines()).toEqual([]);
    pass(2);
    await eventually(() => watching.state === 'Unreachable', true);
    expect([pings, silentLines().length]).toEqual([0, 1]);
    relay.cut();
  });

  test('one that answers lives, and gets 180 PINGs an hour at most', async () => {
    await setUp();
    const watching = await watch();
    const { serverState } = upstream;
    const { lastContactAt } = serverState;
    pass(1);
    for (let looks = 0; looks < 3_600_000 / LOOK_MS; looks += 9) {
      const { lastByteAt } = serverState;
      pass(8);
      await eventually(() => serverState.lastByteAt > lastByteAt, true);
      pass(1);
    }
    expect([watching.state, silentLines()]).toEqual(['open', []]);
    // A PING is no sign that requests are answered.
    expect(serverState.lastContactAt).toBe(lastContactAt);
    expect(pings).toBeGreaterThan(140);
    expect(pings).toBeLessThanOrEqual(180);
  });

  test('one that sends other bytes gets no PING', async () => {
    await setUp();
    const watching = await watch();
    const { stream } = await (server as Http2TestServer).request(1);
    for (let time = 0; time < 20; time++) {
      const before = watching.chunks;
      stream.write('event');
      await eventually(() => watching.chunks > before, true);
      pass(7);
    }
    expect([pings, watching.state]).toEqual([0, 'open']);
  });
});

describe('over HTTP/1.1', () => {
  const QUIET_MS = 400;
  /** The headers of each `GET /version`. */
  let questions: IncomingHttpHeaders[];
  let answer: RequestListener;

  async function setUp(): Promise<void> {
    questions = [];
    answer = (_request, response) => void response.end('{}');
    const listener: RequestListener = (request, response) => {
      if (request.url === '/version') {
        questions.push(request.headers);
        answer(request, response);
      } else if (request.url === '/watch') {
        response.flushHeaders();
      } else if (request.url === '/events') {
        const repeat = setInterval(() => response.write('event'), QUIET_MS / 8);
        response.once('close', () => clearInterval(repeat)).write('event');
      } else {
        response.end('ok');
      }
    };
    await connect(await startServer(listener), QUIET_MS);
  }

  const asked = (times: number) => eventually(() => questions.length >= times, true);

  // A new connection works, and says nothing about those that something on the way has forgotten.
  test('old connections that are dead end together, with one log line, while new ones work', async () => {
    await setUp();
    const watches = await Promise.all([watch(), watch(), watch()]);
    await asked(1);
    // It stays open for the next question.
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS / 4));
    expect([relay.open, ...watches.map(({ state }) => state)]).toEqual([
      4,
      ...Array(3).fill('open'),
    ]);
    relay.freezeOpen();
    const frozenAt = performance.now();
    await eventually(() => watches.every(({ state }) => state === 'Unreachable'), true);
    // The goal is 35 s with a quiet time of 20 s and 10 s for the answer, here twice the quiet time.
    expect(performance.now() - frozenAt).toBeLessThan(6 * QUIET_MS);
    expect(silentLines()).toHaveLength(1);
    expect((await watch()).state).toBe('open');
    relay.cut();
  });

  // Otherwise the next question would need a new connection, and its answer would say nothing about the old ones.
  test('the connection for questions is not used by another request', async () => {
    await setUp();
    const watches = [await watch()];
    await asked(1);
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS / 4));
    watches.push(await watch());
    relay.freezeOpen();
    await eventually(() => watches.every(({ state }) => state === 'Unreachable'), true);
    relay.cut();
  });

  // A question on a connection that is younger than those of the watches says nothing about them.
  test('after all connections are reset, the one for questions is opened before the others', async () => {
    await setUp();
    const before = await Promise.all([watch(), watch(), watch()]);
    await asked(1);
    relay.cut();
    await eventually(() => before.every(({ state }) => state === 'Unreachable'), true);
    const watches = await Promise.all([watch(), watch(), watch()]);
    relay.freezeOpen();
    await eventually(() => watches.every(({ state }) => state === 'Unreachable'), true);
    relay.cut();
  });

  test('a watch that brings something while the answer is due lives', async () => {
    await setUp();
    answer = () => {};
    const [quiet, lively] = [await watch('/watch'), await watch('/events')];
    await eventually(() => quiet.state === 'Unreachable', true);
    expect([lively.state, silentLines().length]).toEqual(['open', 1]);
  });

  test('an API server is asked once in a quiet time, without an identity, and quiet watches live', async () => {
    await setUp();
    const startedAt = performance.now();
    const watching = await watch();
    await asked(6);
    const quietTimes = (performance.now() - startedAt) / QUIET_MS;
    expect(questions.length).toBeLessThanOrEqual(quietTimes + 1);
    expect(questions.some(({ authorization }) => authorization !== undefined)).toBe(false);
    expect([watching.state, relay.accepted, silentLines()]).toEqual(['open', 2, []]);
  });

  test('a question that is refused now and then ends nothing', async () => {
    await setUp();
    let question = 0;
    answer = (request, response) => {
      if (question++ % 3 === 0) response.end('{}');
      else request.socket.destroy();
    };
    const watching = await watch();
    await asked(15);
    expect([watching.state, silentLines()]).toEqual(['open', []]);
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
