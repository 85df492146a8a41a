import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, open, type RawConnection, raw } from '../../support/http/http-client.ts';
import { type PassthroughHarness, startPassthrough } from '../../support/http/passthrough.ts';

/*
 * http-proxy 1.18.1 is no longer maintained. Each test here tells of one of its faults, and fails when the
 * repair of it is taken out of src/proxy/passthrough/repaired-http-proxy.ts.
 */

let harness: PassthroughHarness;

type Options = Parameters<typeof startPassthrough>[1];

async function setUp(listener: RequestListener, options?: Options): Promise<PassthroughHarness> {
  harness = closedLater(await startPassthrough(listener, options));
  return harness;
}

const GET = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
const SPDY = 'POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';

test.each([
  '/a//b',
  '//a/b',
  '/proxy/http://x//y',
  '/a?x=http://y//z',
  '/a\\b',
  '/a%2Fb/../c',
  '/a?',
])(
  'the path %s is sent byte for byte (it was rewritten after the allow-list had seen it)',
  async (path) => {
    const seen: (string | undefined)[] = [];
    const note = ({ url }: IncomingMessage, answer: ServerResponse | Socket): void => {
      seen.push(url);
      answer.end();
    };
    const { front, back } = await setUp(note, { prefix: '/p' });
    back.server.on('upgrade', note);
    for (const request of [GET, SPDY]) await raw(front.url, request.replace('/', path)).closed;
    expect(seen).toEqual(Array(2).fill(`/p${path}`));
  },
);

describe('an abort', () => {
  test('of the client before the headers ends the request to the upstream (it leaked)', async () => {
    const { front, back } = await setUp(() => {});
    const { socket } = raw(front.url, GET);
    await eventually(() => back.connections.size === 1, true);
    socket.destroy();
    await back.idle();
  });

  test.each([
    ['chunks', {}],
    ['known length', { 'content-length': 10 }],
  ])('of the upstream midway ends a response of %s (it hung)', async (_, headers) => {
    const { front } = await setUp((_request, response) => {
      response.writeHead(200, headers);
      response.write('half', () => setImmediate(() => response.destroy()));
    });
    await expect(ask(front.url)).rejects.toThrow('aborted');
  });
});

test('a response that cannot be forwarded is reported, and ends the request to the upstream', async () => {
  const { front, back, errors } = await setUp((_request, response) => {
    response.socket?.write('HTTP/1.1 099 x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n');
  });
  await ask(front.url);
  expect(errors).toHaveLength(1);
  await back.idle();
});

test('the headers of a stream that is still silent reach the client (they waited for the first byte)', async () => {
  const { front } = await setUp((_request, response) => response.flushHeaders());
  const response = await open(front.url);
  expect(response.statusCode).toBe(200);
  response.destroy();
});

describe('an upgrade', () => {
  /** The back switches protocols and echoes; returns the sockets it did so on. */
  async function setUpUpgrade(options: Options = {}): Promise<Socket[]> {
    await setUp((_request, response) => void response.end(), options);
    const sockets: Socket[] = [];
    harness.back.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      sockets.push(socket);
      socket.on('error', () => {});
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n`,
      );
      socket.write(head);
      socket.pipe(socket);
    });
    return sockets;
  }

  /** A client whose request to switch protocols was accepted. */
  async function switched(): Promise<RawConnection> {
    const client = raw(harness.front.url, SPDY);
    await eventually(() => client.received().includes('SPDY/3.1'), true);
    return client;
  }

  test('that is reset before it is answered does not end the process (an error without a listener)', async () => {
    await setUp(() => {});
    harness.back.server.on('upgrade', (_request, socket) => {
      socket.on('error', () => {}).resume();
      socket.once('end', () => socket.end());
    });
    const failures: unknown[] = [];
    harness.front.server.on('connection', (socket) => {
      // Without a listener of the proxy's own, this is what would be thrown.
      socket.once('close', () => failures.push(socket.listenerCount('error') === 0));
    });
    const { socket } = raw(harness.front.url, SPDY);
    await eventually(() => harness.back.connections.size === 1, true);
    socket.resetAndDestroy();
    await harness.back.idle();
    expect(failures).toEqual([false]);
  });

  test('whose client is reset ends the connection to the upstream (it was half-closed and stayed)', async () => {
    const sockets = await setUpUpgrade();
    const { socket } = await switched();
    // An upstream that answers a FIN with more data: only a connection that is gone makes it end.
    const [other] = sockets;
    if (other === undefined) throw new Error('no upgrade');
    other.unpipe().resume().allowHalfOpen = true;
    const timer = setInterval(() => other.write('x'), 5);
    other.once('close', () => clearInterval(timer));
    socket.resetAndDestroy();
    await harness.back.idle();
  });

  test('whose upstream is reset ends the connection of the client', async () => {
    const sockets = await setUpUpgrade();
    const { closed } = await switched();
    sockets[0]?.resetAndDestroy();
    await closed;
  });

  test.each([
    [
      'refuses it has a readable response (it was declared chunked, without chunks)',
      'HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nno\r\n0\r\n\r\n',
      /^HTTP\/1.1 403 Forbidden(?!.*chunked).*\r\n\r\nno$/is,
    ],
    [
      'breaks off its refusal ends the connection (it hung)',
      'HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nno',
      /^HTTP\/1.1 403 Forbidden/,
    ],
    ['never answers ends the connection of the client (it hung)', '', /^$/],
  ])('whose upstream %s', async (_what, answer, received) => {
    await setUp(() => {}, { headersMs: 500 });
    harness.back.server.on('upgrade', (_request, socket) => {
      socket.on('error', () => {}).once('end', () => socket.end());
      socket.resume();
      if (answer !== '') socket.end(answer);
    });
    expect(await raw(harness.front.url, SPDY).closed).toMatch(received);
    await harness.back.idle();
  });

  test('that was accepted may be quiet for longer than the time limit of a response (pass checkMethodAndHeader refused SPDY)', async () => {
    // The answer must come within it, on a busy machine too.
    await setUpUpgrade({ headersMs: 500 });
    const { socket, received } = await switched();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    socket.write('still here');
    await eventually(() => received().endsWith('still here'), true);
  });

  test('is ended by close, on both sides', async () => {
    await setUpUpgrade();
    const { closed } = await switched();
    await harness.passthrough.close();
    await Promise.all([closed, harness.back.idle()]);
  });

  test('that cannot reach the upstream ends the connection of the client', async () => {
    await setUpUpgrade();
    await harness.back.close();
    await raw(harness.front.url, SPDY).closed;
  });
});
