import { getEventListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createUpstream, type Upstream } from '../../../src/proxy/upstream/upstream.ts';
import { answerProbe, isProbe } from '../../support/http/api-answers.ts';
import { FakeCredentials } from '../../support/http/credentials.ts';
import { startServer, type TestServer } from '../../support/http/http-server.ts';
import { captureLogger } from '../../support/http/logger.ts';
import { until } from '../../support/http/until.ts';

const QUIET_MS = 5_000;

let server: TestServer;
let upstream: Upstream;
/** The responses of the server that are open. */
let answers: ServerResponse[];
let probe: jest.SpiedFunction<Upstream['probe']>;

beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  answers = [];
  server = await startServer((request, response) => {
    if (isProbe(request.url)) answerProbe(response);
    else answers.push(response);
  });
  upstream = createUpstream({
    credentials: new FakeCredentials(server.url),
    logger: captureLogger().logger,
    quietMs: QUIET_MS,
  });
  probe = jest.spyOn(upstream, 'probe');
});

afterEach(async () => {
  jest.useRealTimers();
  await upstream.close();
  await server.idle();
  await server.close();
});

const request = (signal?: AbortSignal) =>
  upstream.request({ method: 'GET', path: '/', ...(signal && { signal }) });

async function received(): Promise<ServerResponse> {
  await until(() => answers.length > 0, 'the request');
  return answers.shift() as ServerResponse;
}

describe('a quiet API server', () => {
  test('is health-checked only if no byte of any response came for a while', async () => {
    const pending = request();
    const answer = await received();
    jest.advanceTimersByTime(QUIET_MS - 1);
    answer.flushHeaders();
    const { body } = await pending;
    jest.advanceTimersByTime(QUIET_MS - 1);
    answer.write('a');
    const chunks = body[Symbol.asyncIterator]();
    expect(String((await chunks.next()).value)).toBe('a');
    jest.advanceTimersByTime(QUIET_MS - 1);
    expect(probe).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(probe).toHaveBeenCalledTimes(1);
    expect(await probe.mock.results[0]?.value).toBe('usable');
    answer.end();
    expect((await chunks.next()).done).toBe(true);
  });

  test.each([
    ['was answered', async (answer: ServerResponse) => void answer.end('ok'), 'ok'],
    ['broke off', async (answer: ServerResponse) => void answer.destroy(), 'Unreachable'],
  ])('is not health-checked for a request that %s', async (_what, end, expected) => {
    const pending = request()
      .then(({ body }) => text(body))
      .catch(({ code }) => code as string);
    await end(await received());
    expect(await pending).toBe(expected);
    // A turn or two after the last byte.
    for (let turn = 0; turn < 1000 && jest.getTimerCount() > 0; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(jest.getTimerCount()).toBe(0);
  });
});

test('a request that fails leaves nothing behind at a signal that outlives it', async () => {
  const { signal } = new AbortController();
  const failing = expect(request(signal)).rejects.toMatchObject({ code: 'Unreachable' });
  (await received()).destroy();
  await failing;
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
