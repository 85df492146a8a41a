import { Agent, type IncomingMessage, type RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { statusOf } from '../../../src/client/api/status.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, raw } from '../../support/http/http-client.ts';
import { type PassthroughHarness, startPassthrough } from '../../support/http/passthrough.ts';

let seen: { readonly request: IncomingMessage; readonly body: string }[] = [];

beforeEach(() => {
  seen = [];
});

/** Remembers each request, and answers with its body. */
const echo: RequestListener = async (request, response) => {
  const body = await text(request);
  seen.push({ request, body });
  response.end(body);
};

async function setUp(...args: Parameters<typeof startPassthrough>): Promise<PassthroughHarness> {
  return closedLater(await startPassthrough(...args));
}

describe('a request', () => {
  test('is forwarded with method, path, body and status unchanged, and all headers of the response', async () => {
    const { front } = await setUp(
      async (request, response) => {
        const { method, url } = request;
        response.writeHead(201, 'Made', { 'x-answer': 'a', 'x-list': ['one', 'two'] });
        response.end(`${method} ${url} ${request.headers['content-type']} ${await text(request)}`);
      },
      { prefix: '/k8s/c-1/' },
    );
    const { response, body } = await ask(new URL('/api/v1/events?x=%2F', front.url), {
      method: 'POST',
      headers: { 'content-type': 'a/b' },
      body: 'hello',
    });
    expect(body).toBe('POST /k8s/c-1/api/v1/events?x=%2F a/b hello');
    expect([response.statusCode, response.statusMessage]).toEqual([201, 'Made']);
    expect(response.headers['x-answer']).toBe('a');
    expect(response.headers['x-list']).toBe('one, two');
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'GET'])(
    'of method %s keeps its body, chunked or of known length, or has none',
    async (method) => {
      const { front } = await setUp(echo);
      const chunked = { method, headers: { 'transfer-encoding': 'chunked' }, body: 'abc' };
      expect((await ask(front.url, chunked)).body).toBe('abc');
      const known = { method, headers: { 'content-length': 3 }, body: 'abc' };
      expect((await ask(front.url, known)).body).toBe('abc');
      expect((await ask(front.url, { method })).body).toBe('');
      expect(seen.map(({ request }) => request.method)).toEqual([method, method, method]);
    },
  );

  test('that waits for 100 Continue gets it, and its body is forwarded', async () => {
    const { front } = await setUp(echo);
    const request =
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n';
    const { socket, received } = raw(front.url, request);
    await eventually(() => received().includes('100 Continue'), true);
    socket.write('hi');
    await eventually(() => received().endsWith('hi'), true);
    expect(seen[0]?.request.headers.expect).toBeUndefined();
    socket.destroy();
  });

  test('whose target is an absolute URL is refused, because its path was not authorized', async () => {
    const { front, errors } = await setUp(echo);
    const connection = raw(
      front.url,
      'GET http://x/api HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    await connection.closed;
    expect(errors.map(({ code }) => code)).toEqual(['BadRequest']);
    expect(seen).toEqual([]);
  });
});

describe('headers', () => {
  const sent = {
    host: 'elsewhere.example',
    authorization: 'Bearer caller',
    cookie: 'a=b',
    'impersonate-user': 'admin',
    'Impersonate-Extra-scopes': 'x',
    'X-Remote-User': 'admin',
    'X-Remote-Group': 'system:masters',
    forwarded: 'for=1.2.3.4',
    'x-forwarded-for': '1.2.3.4',
    'x-forwarded-host': 'x',
    'x-real-ip': '1.2.3.4',
    'proxy-authorization': 'Basic x',
    'keep-alive': 'timeout=5',
    te: 'trailers',
    connection: 'close, X-Private, Authorization, Impersonate-User',
    'x-private': 'secret',
    'x-other': 'secret',
    'audit-id': 'of-the-caller',
    via: '1.1 caller',
    traceparent: '00-a-b-01',
    'x-http-method-override': 'DELETE',
    'x-original-url': '/api/v1/secrets',
    'remote-user': 'admin',
    'sec-websocket-key': 'a',
    'user-agent': 'kube-proxy',
    accept: 'application/json',
    'if-none-match': '"a"',
    'accept-encoding': 'gzip',
  };

  test('credentials of the caller are forwarded, its claims and hop-by-hop headers are not', async () => {
    const { front, back } = await setUp(echo);
    await ask(front.url, { headers: sent });
    expect(seen[0]?.request.headers).toEqual({
      host: back.url.host,
      'if-none-match': '"a"',
      'accept-encoding': 'gzip',
      authorization: 'Bearer caller',
      'impersonate-user': 'admin',
      'impersonate-extra-scopes': 'x',
      'user-agent': 'kube-proxy',
      accept: 'application/json',
      connection: 'keep-alive',
    });
  });

  test('are bounded', async () => {
    const [name, max] = ['impersonate-user', 12 * 1024] as const;
    const { front, errors } = await setUp(echo);
    const get = (length: number) => ask(front.url, { headers: { [name]: 'x'.repeat(length) } });
    expect((await get(max)).response.statusCode).toBe(200);
    expect((await get(max + 1)).response.statusCode).toBe(503);
    expect(errors.map(statusOf)).toMatchObject([
      { code: 431, message: expect.stringContaining(`${name} is longer than ${max}`) },
    ]);
    expect(seen).toHaveLength(1);
  });

  test.each(['DELETE', 'GET', 'POST'])(
    'that frame the body of a %s cannot be cut by naming them in Connection',
    async (method) => {
      const { front } = await setUp(echo);
      const body = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
      const head = `${method} / HTTP/1.1\r\nHost: x\r\nConnection: close, Content-Length\r\n`;
      const { closed } = raw(front.url, `${head}Content-Length: ${body.length}\r\n\r\n${body}`);
      await closed;
      expect(seen.map((each) => each.body)).toEqual([body]);
    },
  );

  test('of a response are removed if they are hop-by-hop or listed in Connection', async () => {
    const { front } = await setUp((_request, response) => {
      response.writeHead(200, { connection: 'close, x-hop', 'x-hop': '1', 'x-end': '2' });
      response.end('x');
    });
    const { response } = await ask(front.url, { headers: { connection: 'keep-alive' } });
    expect(response.headers).toMatchObject({ 'x-end': '2', connection: 'keep-alive' });
    expect(response.headers['x-hop']).toBeUndefined();
  });
});

describe('an unreachable API server', () => {
  test.each(['GET', 'POST'])(
    'is reported by address and code, for the listener to answer a %s with Retry-After',
    async (method) => {
      const { front, back, errors } = await setUp(echo);
      await back.close();
      expect((await ask(front.url, { method })).body).toBe('Unreachable');
      const problem = `${back.url.host} is unreachable: ECONNREFUSED`;
      expect(errors.map(statusOf)).toMatchObject([
        { code: 503, retryAfterSeconds: 1, message: expect.stringContaining(problem) },
      ]);
    },
  );

  test('because it closes the connection is reported once, even if the caller still sends its body', async () => {
    const { front, errors } = await setUp((request) => void request.socket.destroy());
    const body = 'x'.repeat(1_000_000);
    const answer = await ask(front.url, { method: 'POST', body }).catch(() => undefined);
    expect(answer?.body ?? 'Unanswered').toBe('Unanswered');
    await eventually(() => errors.length > 0, true);
    expect(errors.map(({ code }) => code)).toEqual(['Unanswered']);
  });

  // client-go sends whatever is answered with Retry-After again, ten times, a write too.
  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    'after it has taken a %s is answered without Retry-After: it may have been carried out',
    async (method) => {
      const { front, errors } = await setUp(async (request, response) => {
        if (request.url === '/first') {
          response.end();
          return;
        }
        await text(request);
        request.socket.destroy();
      });
      const agent = new Agent({ keepAlive: true });
      const write = { method, headers: { 'content-length': 2 }, body: 'hi', agent };
      expect((await ask(front.url, write)).body).toBe('Unanswered');
      // On a connection that is used again, too.
      await ask(new URL('/first', front.url), { agent });
      expect((await ask(front.url, write)).body).toBe('Unanswered');
      agent.destroy();
      for (const error of errors) {
        expect(statusOf(error)).toMatchObject({ code: 504, reason: 'Timeout' });
        expect(statusOf(error)).not.toHaveProperty('retryAfterSeconds');
      }
      expect(errors).toHaveLength(2);
    },
  );

  test('is reported once, even if the side of the caller fails too', async () => {
    const onAnswered = (request: IncomingMessage): void => {
      request.emit('error', new Error('reset'));
    };
    const { front, errors } = await setUp(() => {}, { headersMs: 5, onAnswered });
    const agent = new Agent({ keepAlive: true });
    expect((await ask(front.url, { agent })).body).toBe('Unreachable');
    expect(errors).toHaveLength(1);
    // The answer was not cut off: the connection of the caller is used again.
    await ask(front.url, { agent });
    expect(front.accepted).toBe(1);
    agent.destroy();
  });

  test('but a stream that is quiet for longer continues', async () => {
    const { front } = await setUp(
      (_request, response) => {
        response.flushHeaders();
        setTimeout(() => response.end('late'), 1_000);
      },
      // The headers must come within it, on a busy machine too.
      { headersMs: 500 },
    );
    expect((await ask(front.url)).body).toBe('late');
  });

  test.each([
    '/api/v1/namespaces/a/pods/b/log?follow=true',
    '/api/v1/nodes/a/proxy/logs/',
    '/api/v1/namespaces/a/services/b/proxy',
  ])('is waited for if its response may start late: %s', async (path) => {
    const late: RequestListener = (_request, response) =>
      void setTimeout(() => response.end('late'), 300);
    const { front } = await setUp(late, { headersMs: 20 });
    expect((await ask(new URL(path, front.url))).body).toBe('late');
    expect((await ask(new URL('/api/v1/namespaces/a/pods/log', front.url))).body).toBe(
      'Unreachable',
    );
  });
});
