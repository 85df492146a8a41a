import type { RequestListener } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { createUpstream } from '../../../src/proxy/upstream/upstream.ts';
import { answerProbe, refuseWithStatus } from '../../support/http/api-answers.ts';
import { FakeCredentials } from '../../support/http/credentials.ts';
import { captureLogger } from '../../support/http/logger.ts';
import { until } from '../../support/http/until.ts';
import { upstreamPerTest } from '../../support/http/upstream.ts';

const setUp = upstreamPerTest();

describe('an aborted signal', () => {
  test('immediately ends a request that waits for headers', async () => {
    const controller = new AbortController();
    const { upstream, server } = await setUp(() => controller.abort(new Error('enough')));
    const { signal } = controller;
    await expect(upstream.request({ method: 'GET', path: '/', signal })).rejects.toThrow('enough');
    await server.idle();
  });

  test('immediately ends a request whose body is being read', async () => {
    const { upstream, server } = await setUp((_request, response) => void response.write('first'));
    const controller = new AbortController();
    const { signal } = controller;
    const { body } = await upstream.request({ method: 'GET', path: '/', signal });
    const reading = (async () => {
      for await (const chunk of body) {
        expect(String(chunk)).toBe('first');
        controller.abort(new Error('enough'));
      }
    })();
    await expect(reading).rejects.toThrow('enough');
    await server.idle();
  });

  test('immediately ends a request that waits for a connection', async () => {
    // undici, which was used once, checked the signal of such a request up to 10 s later.
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as AddressInfo;
    const credentials = new FakeCredentials(new URL(`https://127.0.0.1:${port}`));
    const upstream = createUpstream({ credentials, logger: captureLogger().logger });
    const controller = new AbortController();
    silent.once('connection', () => controller.abort(new Error('enough')));
    const started = performance.now();
    const { signal } = controller;
    await expect(upstream.request({ method: 'GET', path: '/', signal })).rejects.toThrow('enough');
    expect(performance.now() - started).toBeLessThan(2_000);
    await upstream.close();
    await new Promise((resolve) => silent.close(resolve));
  });

  // A plugin may take a minute, and ignored every limit of the request.
  test('immediately ends a request that waits for its credentials', async () => {
    const { upstream, credentials, server } = await setUp(() => {});
    const { promise, reject } = Promise.withResolvers<never>();
    credentials.headers = () => promise;
    const controller = new AbortController();
    const { signal } = controller;
    const request = upstream.request({ method: 'GET', path: '/', signal });
    controller.abort(new Error('enough'));
    await expect(request).rejects.toThrow('enough');
    reject(new Error('the plugin failed'));
    expect(server.accepted).toBe(0);
  });

  test('immediately ends a request that was answered 401 and waits for new credentials', async () => {
    const { upstream, credentials } = await setUp((_, response) => response.writeHead(401).end());
    const controller = new AbortController();
    credentials.refresh = () => {
      controller.abort(new Error('enough'));
      return new Promise(() => {});
    };
    const { signal } = controller;
    await expect(upstream.request({ method: 'GET', path: '/', signal })).rejects.toThrow('enough');
  });

  test('that is aborted from the start prevents the request', async () => {
    let requests = 0;
    const { upstream } = await setUp(() => requests++);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(upstream.request({ method: 'GET', path: '/', signal })).rejects.toThrow('enough');
    expect(requests).toBe(0);
  });
});

// A quiet node ended watches that worked, and changed servers, when only its plugin did not.
test.each([
  ['hangs', () => new Promise<never>(() => {})],
  ['fails', () => Promise.reject(new Error('the plugin failed'))],
])('a plugin that %s does not make the API server unreachable', async (_what, headers) => {
  const { upstream, credentials, server } = await setUp(
    ({ headers: { authorization } }, response) =>
      authorization === undefined ? refuseWithStatus(response, 401) : answerProbe(response),
  );
  credentials.headers = headers;
  credentials.servers.push(new URL('http://127.0.0.1:1'));
  expect(await upstream.search()).toBe(true);
  expect(server.accepted).toBe(1);
});

describe('a body', () => {
  const endless: RequestListener = (_request, response) => {
    response.write('x'.repeat(200_000));
  };

  test('whose reader leaves early ends the request', async () => {
    const { upstream, server } = await setUp(endless);
    const { body } = await upstream.request({ method: 'GET', path: '/' });
    for await (const _ of body) break;
    await server.idle();
  });

  test('that is destroyed unread ends the request', async () => {
    const { upstream, server } = await setUp(endless);
    const { body } = await upstream.request({ method: 'GET', path: '/' });
    body.destroy();
    await server.idle();
  });

  test('that nobody starts to read ends the request after a while, and is logged', async () => {
    const { upstream, server, lines } = await setUp(endless, { unreadMs: 10 });
    await upstream.request({ method: 'GET', path: '/forgotten' });
    await server.idle();
    expect(lines.join()).toContain('/forgotten');
  });

  // On a path that lost all bytes, each query waited for its check, and its watch was not read.
  test('that nobody reads is logged a few times, however many there are', async () => {
    const listener: RequestListener = (request, response) => {
      if (request.url === '/version') response.end('{}');
      else endless(request, response);
    };
    const { upstream, server, lines } = await setUp(listener, { unreadMs: 10 });
    for (let request = 0; request < 12; request++) {
      await upstream.request({ method: 'GET', path: '/forgotten' });
    }
    await until(() => server.connections.size === 1, 'all but the one for questions to be closed');
    expect(lines.filter((line) => line.includes('was not read')).length).toBeLessThanOrEqual(9);
  });

  test('that is read slowly is not ended as unread', async () => {
    const { upstream } = await setUp(
      (_request, response) => {
        response.write('a');
        setTimeout(() => response.end('b'), 50);
      },
      { unreadMs: 10 },
    );
    const { body } = await upstream.request({ method: 'GET', path: '/' });
    expect(await text(body)).toBe('ab');
  });

  test('whose server dies before it is read does not end the process, but fails when it is read', async () => {
    const { upstream, server } = await setUp((_request, response) => {
      response.write('x', () => setImmediate(() => response.destroy()));
    });
    const { body } = await upstream.request({ method: 'GET', path: '/' });
    await server.idle();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await expect(text(body)).rejects.toMatchObject({ code: 'Unreachable' });
  });
});

describe('close', () => {
  test('ends requests in every state, waits for their connections, and refuses new requests', async () => {
    const { upstream, server, credentials } = await setUp((request, response) => {
      if (request.url === '/body') response.write('x');
    });
    const { body } = await upstream.request({ method: 'GET', path: '/body' });
    const reading = expect(text(body)).rejects.toMatchObject({ code: 'Unreachable' });
    const waiting = expect(
      upstream.request({ method: 'GET', path: '/headers' }),
    ).rejects.toMatchObject({ code: 'Unreachable' });
    await until(() => server.accepted === 3, 'both requests and the question');
    await upstream.close();
    await Promise.all([reading, waiting, server.idle()]);
    expect(credentials.listeners).toBe(0);
    const late = upstream.request({ method: 'GET', path: '/' });
    await expect(late).rejects.toMatchObject({ code: 'Unreachable' });
    expect(server.accepted).toBe(3);
  });

  test('ends a request that waits for its credentials', async () => {
    const { upstream, server, credentials } = await setUp(() => {});
    credentials.headers = () => new Promise(() => {});
    const request = upstream.request({ method: 'GET', path: '/' });
    const ended = expect(request).rejects.toMatchObject({ code: 'Unreachable' });
    const probe = upstream.probe(server.url);
    await upstream.close();
    await ended;
    expect([await probe, server.accepted]).toEqual([undefined, 0]);
  });

  test('ends a request that was answered 401 and waits for new credentials', async () => {
    const { upstream, credentials } = await setUp((_, response) => response.writeHead(401).end());
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    credentials.refresh = () => {
      resolve();
      return new Promise(() => {});
    };
    const request = upstream.request({ method: 'GET', path: '/' });
    const ended = expect(request).rejects.toMatchObject({ code: 'Unreachable' });
    await asked;
    await upstream.close();
    await ended;
  });
});
