import { createServer, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, jest, test } from '@jest/globals';
import { createUpstream } from '../../../src/proxy/upstream/upstream.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { FakeCredentials } from '../../support/http/credentials.ts';
import { track } from '../../support/http/http-server.ts';
import { captureLogger } from '../../support/http/logger.ts';
import { useUpstream } from '../../support/http/upstream.ts';

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

test('a request whose connection takes 5 s is ended', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  const silent = closedLater(await track(createServer(), false));
  const credentials = new FakeCredentials(new URL(`https://${silent.url.host}`));
  const upstream = closedLater(createUpstream({ credentials, logger: captureLogger().logger }));
  const asking = expect(upstream.request({ method: 'GET', path: '/' })).rejects.toMatchObject({
    code: 'Unreachable',
    message: expect.stringContaining('no connection within 5 s'),
  });
  await eventually(() => silent.accepted, 1);
  jest.advanceTimersByTime(5_000);
  await asking;
});

test('a quiet connection is probed by TCP keep-alive', async () => {
  const probed = jest.spyOn(Socket.prototype, 'setKeepAlive');
  const { upstream } = await useUpstream((_request, response) => void response.end('ok'));
  await text((await upstream.request({ method: 'GET', path: '/' })).body);
  expect(probed).toHaveBeenCalledWith(true, 15_000);
});
