import { createServer, Socket } from 'node:net';
import { afterEach, expect, jest, test } from '@jest/globals';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { track } from '../../support/http/http-server.ts';
import { readText, upstreamTo, useUpstream } from '../../support/http/upstream.ts';

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

// The pool would try again for each of them.
test('requests whose connection takes 5 s are ended, all together', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  const silent = closedLater(await track(createServer(), false));
  const { upstream } = upstreamTo(new URL(`https://${silent.url.host}`));
  const asking = Promise.all(
    Array.from({ length: 5 }, () =>
      expect(upstream.request({ method: 'GET', path: '/' })).rejects.toMatchObject({
        code: 'Unreachable',
        message: expect.stringContaining('no connection within 5 s'),
      }),
    ),
  );
  await eventually(() => silent.accepted, 1);
  jest.advanceTimersByTime(5_000);
  await asking;
  expect(silent.accepted).toBe(1);
});

test('a quiet connection is probed by TCP keep-alive', async () => {
  const probed = jest.spyOn(Socket.prototype, 'setKeepAlive');
  const { upstream } = await useUpstream((_request, response) => void response.end('ok'));
  await readText((await upstream.request({ method: 'GET', path: '/' })).body);
  expect(probed).toHaveBeenCalledWith(true, 15_000);
});
