import { getEventListeners } from 'node:events';
import type { RequestListener } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createUpstream, type Upstream } from '../../src/proxy/upstream.ts';
import { FakeCredentials } from '../support/http-credentials.ts';
import { captureLogger } from '../support/http-logger.ts';
import { startServer, type TestServer } from '../support/http-server.ts';
import { until } from '../support/http-until.ts';

let upstream: Upstream | undefined;
let server: TestServer | undefined;
let lines: string[];

afterEach(async () => {
  await upstream?.close();
  // Whatever a test did, no connection outlives the upstream.
  await server?.idle();
  await server?.close();
  upstream = undefined;
  server = undefined;
});

async function setUp(
  listener: RequestListener,
  options: { readonly prefix?: string; readonly unreadMs?: number } = {},
): Promise<{ upstream: Upstream; server: TestServer; credentials: FakeCredentials }> {
  server = await startServer(listener);
  const credentials = new FakeCredentials(new URL(options.prefix ?? '', server.url));
  const { logger, lines: captured } = captureLogger();
  lines = captured;
  upstream = createUpstream({ credentials, logger, ...options });
  return { upstream, server, credentials };
}

describe('a request', () => {
  test('is sent under our identity, to the path below that of the server, with its body', async () => {
    const { upstream } = await setUp(
      async (request, response) => {
        const { url, method, headers } = request;
        const { authorization, accept } = headers;
        const body = await text(request);
        response.end(JSON.stringify({ url, method, authorization, accept, body }));
      },
      { prefix: '/k8s/clusters/c-1/' },
    );
    const response = await upstream.request({
      method: 'POST',
      path: '/api/v1/events?x=1',
      headers: { accept: 'application/json' },
      body: 'hello',
    });
    expect(response.statusCode).toBe(200);
    expect(JSON.parse(await text(response.body))).toEqual({
      url: '/k8s/clusters/c-1/api/v1/events?x=1',
      method: 'POST',
      authorization: 'Bearer own-token',
      accept: 'application/json',
      body: 'hello',
    });
  });

  test('answered 401 is sent once more after the credentials were read anew', async () => {
    const seen: string[] = [];
    const { upstream, credentials } = await setUp(async (request, response) => {
      seen.push(`${request.headers.authorization} ${await text(request)}`);
      response.statusCode = request.headers.authorization === 'Bearer new' ? 201 : 401;
      response.end('{}');
    });
    credentials.onRefresh = () => {
      credentials.token = 'new';
    };
    const response = await upstream.request({ method: 'POST', path: '/', body: 'twice' });
    expect(response.statusCode).toBe(201);
    expect(seen).toEqual(['Bearer own-token twice', 'Bearer new twice']);
    await buffer(response.body);
  });

  test('answered 401 does not wait for the rest of that answer, nor keep its connection', async () => {
    const { upstream, server } = await setUp((_request, response) => {
      if (server.accepted === 1) response.writeHead(401).write('on and on');
      else response.end('ok');
    });
    const { body } = await upstream.request({ method: 'GET', path: '/' });
    expect(await text(body)).toBe('ok');
    await until(() => server.connections.size === 1, 'the connection of the 401 to go');
  });

  test('answered 401 twice is answered so', async () => {
    let requests = 0;
    const { upstream, credentials } = await setUp((_request, response) => {
      requests++;
      response.writeHead(401).end('no');
    });
    const response = await upstream.request({ method: 'GET', path: '/' });
    expect(await text(response.body)).toBe('no');
    expect(response.statusCode).toBe(401);
    expect([requests, credentials.refreshes]).toEqual([2, 1]);
  });

  test('under another identity carries nothing of ours, and its 401 is its own', async () => {
    const seen: unknown[] = [];
    const { upstream, credentials } = await setUp((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(401).end();
    });
    const authorization = 'Bearer caller';
    const response = await upstream.request({ method: 'GET', path: '/', authorization });
    await buffer(response.body);
    expect(seen).toEqual(['Bearer caller']);
    expect(credentials.refreshes).toBe(0);
  });

  test('leaves nothing behind at a signal that outlives it', async () => {
    const { upstream } = await setUp((_request, response) => void response.end('x'));
    const { signal } = new AbortController();
    const response = await upstream.request({ method: 'GET', path: '/', signal });
    await buffer(response.body);
    await until(() => getEventListeners(signal, 'abort').length === 0, 'the signal to be let go');
  });
});

describe('an API server that cannot be reached', () => {
  test('is named by address and code of the cause', async () => {
    const { upstream, server } = await setUp(() => {});
    await server.close();
    const error = await upstream.request({ method: 'GET', path: '/' }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'Unreachable', cause: { code: 'ECONNREFUSED' } });
    expect(error.message).toContain(`API server at ${server.url.host} cannot be reached`);
    expect(error.message).toContain('ECONNREFUSED');
  });

  test('because it dies while it answers makes the reading of the body fail', async () => {
    const { upstream } = await setUp((_request, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('half', () => setImmediate(() => response.destroy()));
    });
    const response = await upstream.request({ method: 'GET', path: '/' });
    await expect(text(response.body)).rejects.toMatchObject({ code: 'Unreachable' });
  });

  test('because it hangs up without an answer is Unreachable', async () => {
    const { upstream } = await setUp((request) => void request.socket.destroy());
    const request = upstream.request({ method: 'GET', path: '/' });
    await expect(request).rejects.toMatchObject({ code: 'Unreachable' });
  });
});

describe('an aborted signal', () => {
  test('ends a request at once that waits for headers', async () => {
    const controller = new AbortController();
    const { upstream, server } = await setUp(() => controller.abort(new Error('enough')));
    const { signal } = controller;
    await expect(upstream.request({ method: 'GET', path: '/', signal })).rejects.toThrow('enough');
    await server.idle();
  });

  test('ends a request at once whose body is being read', async () => {
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

  test('ends a request at once that waits for a connection', async () => {
    // undici looks at the signal of such a request only when it has a connection, up to 10 s later.
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as AddressInfo;
    const credentials = new FakeCredentials(new URL(`https://127.0.0.1:${port}`));
    upstream = createUpstream({ credentials, logger: captureLogger().logger });
    const controller = new AbortController();
    silent.once('connection', () => controller.abort(new Error('enough')));
    const started = performance.now();
    const { signal } = controller;
    await expect(upstream.request({ method: 'GET', path: '/', signal })).rejects.toThrow('enough');
    expect(performance.now() - started).toBeLessThan(2_000);
    await upstream.close();
    await new Promise((resolve) => silent.close(resolve));
  });

  test('from the start lets nothing be sent', async () => {
    let requests = 0;
    const { upstream } = await setUp(() => requests++);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(upstream.request({ method: 'GET', path: '/', signal })).rejects.toThrow('enough');
    expect(requests).toBe(0);
  });
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

  test('that nobody begins to read ends the request after a while, and is logged', async () => {
    const { upstream, server } = await setUp(endless, { unreadMs: 10 });
    await upstream.request({ method: 'GET', path: '/forgotten' });
    await server.idle();
    expect(lines.join()).toContain('/forgotten');
  });

  test('that is read slowly is not taken for unread', async () => {
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
  test('ends requests in every phase, waits for their connections, and lets no new one through', async () => {
    const { upstream, server, credentials } = await setUp((request, response) => {
      if (request.url === '/body') response.write('x');
    });
    const { body } = await upstream.request({ method: 'GET', path: '/body' });
    const reading = expect(text(body)).rejects.toMatchObject({ code: 'Unreachable' });
    const waiting = expect(
      upstream.request({ method: 'GET', path: '/headers' }),
    ).rejects.toMatchObject({ code: 'Unreachable' });
    await until(() => server.accepted === 2, 'both requests');
    await upstream.close();
    await Promise.all([reading, waiting, server.idle()]);
    expect(credentials.listeners).toBe(0);
    const late = upstream.request({ method: 'GET', path: '/' });
    await expect(late).rejects.toMatchObject({ code: 'Unreachable' });
    expect(server.accepted).toBe(2);
  });

  test('ends a request that waits for its credentials', async () => {
    const { upstream, server, credentials } = await setUp(() => {});
    let proceed = (): void => {};
    credentials.headers = () =>
      new Promise((resolve) => {
        proceed = () => resolve({});
      });
    const request = upstream.request({ method: 'GET', path: '/' });
    await upstream.close();
    proceed();
    await expect(request).rejects.toMatchObject({ code: 'Unreachable' });
    expect(server.accepted).toBe(0);
  });
});
