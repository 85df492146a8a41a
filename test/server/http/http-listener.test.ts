import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { writeServingFiles } from '../../../harness/certificates.ts';
import { HttpListener, type HttpListenerOptions } from '../../../src/server/http/http-listener.ts';
import { ListenerCounter } from '../../../src/server/http/listener-counter.ts';
import { DEFAULT_LISTENER_LIMITS } from '../../../src/server/http/listener-limits.ts';
import { RefusalLog } from '../../../src/server/http/refusal-log.ts';
import { ServerCertificate } from '../../../src/server/http/server-certificate.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { raw } from '../../support/http/http-client.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { useFolder } from '../../support/use-folder.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const logger = pino({ level: 'silent' });
const files = await writeServingFiles(useFolder());
const ca = readFileSync(files.caFile);
const certificate = closedLater(await ServerCertificate.load(files, logger));

afterEach(() => {
  jest.restoreAllMocks();
});

function makeListener(options: Partial<HttpListenerOptions> = {}): HttpListener {
  const listener = new HttpListener({
    name: 'listen',
    address: { host: '127.0.0.1', port: 0 },
    listenerLimits: DEFAULT_LISTENER_LIMITS,
    onRequest: (_request, response) => void response.end('served'),
    refusals: new RefusalLog(logger),
    requests: new ListenerCounter(),
    ...options,
  });
  closedLater({ close: () => listener.close(0, () => {}) });
  return listener;
}

/** Opens a connection and sends a request. */
const ask = (url: string, request = GET) => raw(url, request, { ca });

test('codes that HTTP does not define are counted as one', async () => {
  const requests = new ListenerCounter();
  const codes = [200, 299, 999, 404];
  const listener = makeListener({
    requests,
    onRequest: ({ url = '' }, response) => {
      response.statusCode = Number(url.slice(1));
      response.end();
    },
  });
  const url = await listener.listen();
  for (const code of codes) await fetch(`${url}/${code}`);
  const counts = () => [...requests.counts].map(([count, , word]) => [word, count]);
  await eventually(() => counts().length, 3);
  expect(Object.fromEntries(counts())).toEqual({ 200: 1, 404: 1, other: 2 });
});

describe('closing a listener', () => {
  test('serves all connections that are pending in its socket', async () => {
    const listener = makeListener();
    const url = await listener.listen();
    const clients = Array.from({ length: 30 }, () => ask(url));
    await new Promise<void>((resolve) => process.nextTick(resolve));
    // The kernel completes the handshakes before this process can accept the connections.
    execFileSync('sleep', ['0.1']);
    await listener.close(1000, () => {});
    const answers = await Promise.all(clients.map(({ closed }) => closed));
    expect(answers.filter((answer) => !/^HTTP\/1.1 200 .*close.*served$/s.test(answer))).toEqual(
      [],
    );
  });

  test('answers a late request on an idle connection, and ends the connection', async () => {
    const listener = makeListener();
    const client = ask(await listener.listen());
    await eventually(() => client.received().endsWith('served'), true);
    const closed = listener.close(30_000, () => setTimeout(() => client.socket.write(GET), 100));
    const answers = (await client.closed).match(/Connection: [a-z-]+/g);
    expect(answers).toEqual(['Connection: keep-alive', 'Connection: close']);
    const start = performance.now();
    await closed;
    // No connection is left.
    expect(performance.now() - start).toBeLessThan(20_000);
  });

  // Regression: over https the server's own list has connections only after their handshakes. One silent connection
  // prevented the listener from closing.
  test.each(['http', 'https'])(
    'ends all connections over %s, whatever they wait for',
    async (protocol) => {
      const asked: string[] = [];
      const listener = makeListener({
        ...(protocol === 'https' ? { certificate } : {}),
        onRequest: ({ url = '' }) => void asked.push(url),
      });
      const url = await listener.listen();
      const silent = raw(url.replace('https', 'http'));
      const waiting = ask(url);
      await eventually(() => asked.length === 1, true);
      expect(listener.connections).toBe(2);
      const start = performance.now();
      await listener.close(100, () => {});
      expect(performance.now() - start).toBeLessThan(20_000);
      await Promise.all([silent, waiting].map(({ closed }) => closed));
      await eventually(() => listener.connections === 0, true);
    },
  );

  test('continues after an error of its socket', async () => {
    const listen = jest.spyOn(Server.prototype, 'listen');
    const listener = makeListener();
    await listener.listen();
    const closed = listener.close(0, () => {
      // Node reports this if a connection cannot be accepted, for example because of too many open files.
      (listen.mock.contexts[0] as Server).emit('error', new Error('accept EMFILE'));
    });
    await expect(closed).resolves.toBeUndefined();
  });
});

describe('the handshake of https', () => {
  const listenerLimits = { ...DEFAULT_LISTENER_LIMITS, maxConnections: 1, headersTimeoutMs: 300 };

  // Regression: the refusal was written only after the handshake.
  test.each([
    ['never comes', ''],
    // The header of a record of 512 bytes, and the beginning of a ClientHello.
    ['never ends', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc'],
    ['is plain http', GET],
  ])('that %s ends the connection', async (_name, bytes) => {
    const listener = makeListener({ certificate, listenerLimits });
    const url = await listener.listen();
    await raw(url.replace('https', 'http'), bytes).closed;
    await eventually(() => listener.connections === 0, true);
  });
});

describe('requests of one connection', () => {
  /** Counts the active requests; answers each immediately, with more than a socket buffers. */
  function busyListener(body: Buffer) {
    const counts = { now: 0, most: 0, all: 0 };
    const listener = makeListener({
      onRequest: (_request, response) => {
        counts.all++;
        counts.most = Math.max(counts.most, ++counts.now);
        response.once('close', () => counts.now--);
        response.end(body);
      },
    });
    return { listener, counts };
  }

  test('one that arrives during the first waits for its response, however late that ends', async () => {
    const responses: ServerResponse[] = [];
    const listener = makeListener({
      onRequest: (_request, response) => {
        responses.push(response);
        if (responses.length === 2) response.end('second');
        // This is the whole response, but the server has not ended it yet.
        else response.writeHead(200, { 'content-length': 5 }).write('first');
      },
    });
    const client = ask(await listener.listen());
    await eventually(() => client.received().endsWith('first'), true);
    client.socket.write(GET);
    await delay(20);
    expect(responses).toHaveLength(1);
    responses[0]?.end();
    await eventually(() => client.received().endsWith('second'), true);
  });

  test('of many that arrive together, the first two are answered, and the second answer ends the connection', async () => {
    const { listener, counts } = busyListener(Buffer.alloc(8 * 1024 * 1024));
    const client = ask(await listener.listen(), GET.repeat(20));
    const answers = (await client.closed).split(/(?=HTTP\/1.1 )/);
    expect(answers.map((each) => /^HTTP\/1.1 200 .*connection: (\S+)/is.exec(each)?.[1])).toEqual([
      'keep-alive',
      'close',
    ]);
    await eventually(() => counts.now === 0, true);
    expect(counts).toMatchObject({ most: 1, all: 2 });
  });

  test('a refusal is not written before the answer to an earlier request, which the client would take it for', async () => {
    const responses: ServerResponse[] = [];
    const listener = makeListener({
      onRequest: (_request, response) => void responses.push(response),
    });
    const client = ask(await listener.listen(), `${GET}junk`);
    expect(await client.closed).toBe('');
    expect(responses).toHaveLength(1);
  });

  test.each([
    ['http', {}],
    ['https', { certificate }],
  ])(
    'an endless flood of them over %s, behind a response that lasts, is not read',
    async (_, tls) => {
      const { logger: recorder, lines } = recordingLogger();
      const received: IncomingMessage[] = [];
      const listener = makeListener({
        ...tls,
        onRequest: (request, response) => {
          received.push(request);
          response.write('begun');
        },
        refusals: new RefusalLog(recorder),
      });
      const client = ask(await listener.listen(), GET.repeat(1_000_000));
      await eventually(() => lines.length > 0, true);
      for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
      expect(received).toHaveLength(1);
      expect(received[0]?.socket.bytesRead).toBeLessThan(512 * 1024);
      client.socket.destroy();
    },
  );
});

test('a request that offers HTTP/2 is answered in HTTP/1.1', async () => {
  const url = await makeListener().listen();
  const offer =
    'Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA';
  const client = ask(url, `GET / HTTP/1.1\r\nHost: x\r\n${offer}\r\n\r\n`);
  expect(await client.closed).toMatch(/^HTTP\/1.1 200 .*served/s);
});

describe('clients that do not read their responses', () => {
  const body = Buffer.alloc(32 * 1024 * 1024);
  const listenerLimits = { ...DEFAULT_LISTENER_LIMITS, maxConnections: 2 };

  /** Sends a request on each of two connections, and reads nothing. Resolves when both responses are written. */
  async function stall(url: string, answers: ServerResponse[]): Promise<void> {
    for (const { socket } of [ask(url), ask(url)]) socket.pause();
    await eventually(() => answers.filter(({ writableEnded }) => writableEnded).length === 2, true);
  }

  test('are evicted for the request of another client', async () => {
    const answers: ServerResponse[] = [];
    const listener = makeListener({
      listenerLimits,
      onRequest: (_request, response) => {
        answers.push(response);
        response.end(answers.length > 2 ? 'served' : body);
      },
    });
    const url = await listener.listen();
    await stall(url, answers);
    const client = ask(url);
    await eventually(() => client.received().endsWith('served'), true);
    expect(answers.slice(0, 2).map(({ destroyed }) => destroyed)).toEqual([true, false]);
  });

  test('are disconnected after a time', async () => {
    const { logger: recording, lines } = recordingLogger();
    const answers: ServerResponse[] = [];
    const listener = makeListener({
      listenerLimits,
      writeTimeoutMs: 100,
      refusals: new RefusalLog(recording),
      onRequest: (_request, response) => void answers.push(response.end(body)),
    });
    await stall(await listener.listen(), answers);
    await eventually(() => listener.connections === 0, true);
    expect(lines).toMatchObject([{ reason: 'WriteTimeout' }]);
  });
});

test('requests of one kind have their own limit, and refusals are logged once', async () => {
  const { logger: recording, lines } = recordingLogger();
  const listener = makeListener({
    refusals: new RefusalLog(recording),
    kindOf: ({ url = '' }) => url,
    maxOfKind: { '/slow': 2 },
    onRequest: ({ url }, response) =>
      void (url === '/slow' ? response.write('-') : response.end('served')),
  });
  const url = await listener.listen();
  const slow = Array.from({ length: 12 }, () => ask(url, GET.replace('/', '/slow')));
  const refused = () => slow.filter(({ received }) => / 503 /.test(received()));
  await eventually(() => refused().length === 10, true);
  expect(refused()[0]?.received()).toMatch(/2 requests of this kind, or 256 in all/);
  const client = ask(url);
  await eventually(() => client.received().endsWith('served'), true);
  expect(listener.refused).toBe(10);
  expect(lines).toMatchObject([{ level: 40, listener: 'listen', reason: 'TooManyConnections' }]);
});
