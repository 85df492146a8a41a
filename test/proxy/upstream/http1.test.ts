import { createServer, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { createUpstream } from '../../../src/proxy/upstream/upstream.ts';
import { FakeCredentials } from '../../support/http/credentials.ts';
import { captureLogger } from '../../support/http/logger.ts';
import { upstreamPerTest } from '../../support/http/upstream.ts';

const setUp = upstreamPerTest();

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

describe('a request', () => {
  test('whose connection takes 5 s is ended', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    const accepted = new Promise<Socket>((resolve) => silent.once('connection', resolve));
    const credentials = new FakeCredentials(new URL(`https://127.0.0.1:${port}`));
    const upstream = createUpstream({ credentials, logger: captureLogger().logger });
    const asking = expect(upstream.request({ method: 'GET', path: '/' })).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('no connection within 5 s'),
    });
    const socket = await accepted;
    jest.advanceTimersByTime(5_000);
    await asking;
    socket.destroy();
    await upstream.close();
    await new Promise((resolve) => silent.close(resolve));
  });

  // Otherwise a request that hangs at the server would take twice the time, and would be sent twice.
  test('without a response in time on a reused connection is not sent again', async () => {
    const paths: unknown[] = [];
    const { upstream, server } = await setUp(
      ({ url }, response) => {
        paths.push(url);
        if (url === '/first') response.end('ok');
      },
      { headersMs: 1_000 },
    );
    await text((await upstream.request({ method: 'GET', path: '/first' })).body);
    await expect(upstream.request({ method: 'GET', path: '/hangs' })).rejects.toMatchObject({
      message: expect.stringContaining('no response within 1 s'),
    });
    expect([paths, server.accepted]).toEqual([['/first', '/hangs'], 1]);
  });

  test('whose response has started has no time limit, because it may be a watch', async () => {
    const { upstream } = await setUp(
      (_request, response) => {
        response.write('a');
        setTimeout(() => response.end('b'), 1_500);
      },
      { headersMs: 1_000 },
    );
    expect(await text((await upstream.request({ method: 'GET', path: '/' })).body)).toBe('ab');
  });
});

test('a quiet connection is probed by TCP keep-alive', async () => {
  const probed = jest.spyOn(Socket.prototype, 'setKeepAlive');
  const { upstream } = await setUp((_request, response) => void response.end('ok'));
  await text((await upstream.request({ method: 'GET', path: '/' })).body);
  expect(probed).toHaveBeenCalledWith(true, 15_000);
});
