import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, open, raw } from '../../support/http/http-client.ts';
import { type PassthroughHarness, startPassthrough } from '../../support/http/passthrough.ts';

/*
 * http-proxy 1.18.1 is no longer maintained. Each test here tells of one of its faults, and fails when the
 * repair of it is taken out of src/proxy/passthrough/repaired-http-proxy.ts.
 */

let harness: PassthroughHarness;

async function setUp(...args: Parameters<typeof startPassthrough>): Promise<PassthroughHarness> {
  harness = closedLater(await startPassthrough(...args));
  return harness;
}

describe('requests', () => {
  test.each(['DELETE', 'OPTIONS'])(
    'the body of a chunked %s is no request of its own (pass deleteLength, request smuggling)',
    async (method) => {
      // http-proxy cut Transfer-Encoding and said Content-Length: 0, then sent the body all the same.
      const seen: string[] = [];
      const { front } = await setUp(async (request, response) => {
        seen.push(`${request.method} ${request.url} ${await text(request)}`);
        response.end();
      });
      const smuggled = 'GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\n';
      const size = smuggled.length.toString(16);
      const { received } = raw(
        front.url,
        `${method} /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\n${smuggled}\r\n0\r\n\r\n`,
      );
      await eventually(() => received().includes('200 OK'), true);
      // A second request, so that a smuggled one had the time to arrive before it.
      await ask(new URL('/b', front.url));
      expect(seen).toEqual([`${method} /a ${smuggled}`, 'GET /b ']);
    },
  );

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
      const { front } = await setUp((request, response) => void response.end(request.url), {
        prefix: '/p',
      });
      const { received, closed } = raw(
        front.url,
        `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      );
      await closed;
      expect(received().split('\r\n\r\n')[1]).toBe(`/p${path}`);
    },
  );
});

describe('an abort', () => {
  test('of the client before the headers ends the request to the upstream (it leaked)', async () => {
    const { front, back } = await setUp(() => {});
    const { socket } = raw(front.url, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await eventually(() => back.connections.size === 1, true);
    socket.destroy();
    await back.idle();
  });

  test('of the client midway ends the request to the upstream (it leaked)', async () => {
    const { front, back } = await setUp((_request, response) => void response.write('x'));
    const response = await open(front.url);
    response.destroy();
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
  const SPDY = 'POST /exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';

  /** The back switches protocols and echoes; returns the sockets it did so on. */
  function switching(): Socket[] {
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

  async function setUpUpgrade(): Promise<Socket[]> {
    await setUp((_request, response) => void response.end());
    return switching();
  }

  test('to SPDY is forwarded, in both directions (pass checkMethodAndHeader refused it)', async () => {
    await setUpUpgrade();
    const { socket, received } = raw(harness.front.url, SPDY);
    await eventually(() => received().includes('SPDY/3.1'), true);
    socket.write('hello');
    await eventually(() => received().endsWith('hello'), true);
    socket.end();
    await harness.back.idle();
  });

  test.each(['/a//b', '//a/b', '/a?x=http://y//z'])(
    'to the path %s is sent byte for byte (it was rewritten after it had been looked at)',
    async (path) => {
      await setUpUpgrade();
      const urls: (string | undefined)[] = [];
      harness.back.server.on('upgrade', ({ url }: IncomingMessage) => urls.push(url));
      const { socket, received } = raw(harness.front.url, SPDY.replace('/exec', path));
      await eventually(() => received().includes('SPDY/3.1'), true);
      expect(urls).toEqual([path]);
      socket.end();
      await harness.back.idle();
    },
  );

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
    const { socket, received } = raw(harness.front.url, SPDY);
    await eventually(() => received().includes('101'), true);
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
    const { received, closed } = raw(harness.front.url, SPDY);
    await eventually(() => received().includes('101'), true);
    sockets[0]?.resetAndDestroy();
    await closed;
  });

  test('that the upstream refuses has a readable response (it was declared chunked, without chunks)', async () => {
    await setUp(() => {});
    harness.back.server.on('upgrade', (_request, socket) => {
      socket.on('error', () => {});
      socket.end(
        'HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nno\r\n0\r\n\r\n',
      );
    });
    const { received, closed } = raw(harness.front.url, SPDY);
    await closed;
    const [head, body] = received().split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1.1 403 Forbidden/);
    expect(head?.toLowerCase()).not.toContain('chunked');
    expect(body).toBe('no');
  });

  test('that the upstream refuses with a response that breaks off ends the connection (it hung)', async () => {
    await setUp(() => {});
    harness.back.server.on('upgrade', (_request, socket) => {
      socket.on('error', () => {});
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nno');
    });
    const { received, closed } = raw(harness.front.url, SPDY);
    await closed;
    expect(received()).toMatch(/^HTTP\/1.1 403 Forbidden/);
  });

  test('that the upstream never answers ends the connection of the client (it hung)', async () => {
    await setUp(() => {}, { headersMs: 20 });
    harness.back.server.on('upgrade', (_request, socket) => {
      socket.on('error', () => {}).once('end', () => socket.end());
      socket.resume();
    });
    await raw(harness.front.url, SPDY).closed;
    await harness.back.idle();
  });

  test('that was accepted may be quiet for longer than the time limit of a response', async () => {
    // The answer must come within it, on a busy machine too.
    await setUp(() => {}, { headersMs: 500 });
    switching();
    const { socket, received } = raw(harness.front.url, SPDY);
    await eventually(() => received().includes('101'), true);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    socket.write('still here');
    await eventually(() => received().endsWith('still here'), true);
    socket.end();
  });

  test('is ended by close, on both sides', async () => {
    await setUpUpgrade();
    const { received, closed } = raw(harness.front.url, SPDY);
    await eventually(() => received().includes('101'), true);
    await harness.passthrough.close();
    await Promise.all([closed, harness.back.idle()]);
  });

  test('that cannot reach the upstream ends the connection of the client', async () => {
    await setUpUpgrade();
    await harness.back.close();
    await raw(harness.front.url, SPDY).closed;
  });
});
