import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import { recordOutcomes } from '../../support/http/outcomes.ts';
import { readText, useUpstream } from '../../support/http/upstream.ts';

describe('a request', () => {
  test('is sent under our identity, to the path below that of the server, with its body', async () => {
    const { upstream } = await useUpstream(
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
    expect(JSON.parse(await readText(response.body))).toEqual({
      url: '/k8s/clusters/c-1/api/v1/events?x=1',
      method: 'POST',
      authorization: 'Bearer own-token',
      accept: 'application/json',
      body: 'hello',
    });
  });

  test('has our User-Agent, also with the identity of a caller', async () => {
    const seen: (string | undefined)[] = [];
    const { upstream } = await useUpstream((request, response) => {
      seen.push(request.headers['user-agent']);
      response.end('{}');
    });
    for (const more of [{}, { authorization: 'Bearer caller' }]) {
      const { body } = await upstream.request({ method: 'GET', path: '/', ...more });
      await readText(body);
    }
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(seen).toEqual(Array(2).fill(`kube-proxy-wrapper/${version}`));
  });

  test.each([
    ['GET', 2],
    ['POST', 1],
  ] as const)('%s whose connections are lost is sent so often: %d', async (method, times) => {
    let requests = 0;
    const { upstream } = await useUpstream(({ socket }) => {
      requests++;
      socket.destroy();
    });
    const asked = upstream.request({ method, path: '/' });
    await expect(asked).rejects.toMatchObject({ code: 'Unreachable' });
    expect(requests).toBe(times);
  });

  test('answered 401 is sent once more after the credentials were read again', async () => {
    const seen: string[] = [];
    const { upstream, credentials } = await useUpstream(async (request, response) => {
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
    await readText(response.body);
  });

  test('answered 401 neither waits for the rest of that response nor keeps its connection', async () => {
    const sockets: Socket[] = [];
    const { upstream } = await useUpstream((request, response) => {
      if (request.url === '/' && sockets.push(request.socket) === 1)
        response.writeHead(401).write('on and on');
      else response.end('ok');
    });
    const { body } = await upstream.request({ method: 'GET', path: '/' });
    expect(await readText(body)).toBe('ok');
    await eventually(() => sockets[0]?.destroyed === true, true);
  });

  test('answered 401 twice resolves with 401, which is logged once', async () => {
    let requests = 0;
    const { upstream, credentials, lines } = await useUpstream((_request, response) => {
      requests++;
      response.writeHead(401).end('no');
    });
    const response = await upstream.request({ method: 'GET', path: '/' });
    expect(await readText(response.body)).toBe('no');
    expect(response.statusCode).toBe(401);
    expect([requests, credentials.refreshes]).toEqual([2, 1]);
    await readText((await upstream.request({ method: 'GET', path: '/' })).body);
    expect(lines).toHaveLength(1);
  });

  // Lists were refused and watches were not: 100 lines in 32 s.
  test('answered 401 and otherwise in turn is logged a few times only', async () => {
    let requests = 0;
    const { upstream, lines } = await useUpstream((_request, response) => {
      // Each 401 is tried once more.
      response.writeHead(requests++ % 3 < 2 ? 401 : 200).end('x');
    });
    for (let request = 0; request < 40; request++) {
      await readText((await upstream.request({ method: 'GET', path: '/' })).body);
    }
    const said = lines.filter(({ msg }) => msg.includes('are read again'));
    expect(said.length).toBeLessThanOrEqual(9);
  });

  test('under another identity carries nothing of ours, and its 401 is its own', async () => {
    const seen: unknown[] = [];
    const { upstream, credentials } = await useUpstream((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(401).end();
    });
    const authorization = 'Bearer caller';
    const response = await upstream.request({ method: 'GET', path: '/', authorization });
    await readText(response.body);
    expect(seen).toEqual(['Bearer caller']);
    expect(credentials.refreshes).toBe(0);
  });
});

describe('an unreachable API server', () => {
  test('is named by address and code of the cause', async () => {
    const { upstream, server } = await useUpstream(() => {});
    await server.close();
    const error = await upstream.request({ method: 'GET', path: '/' }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'Unreachable' });
    expect(error.message).toContain(`API server at ${server.url.host} is unreachable`);
    expect(error.message).toContain('ECONNREFUSED');
  });
});

describe('the outcome of a request is reported', () => {
  test.each([
    ['answered', true],
    ['forbidden', true],
    ['unauthorized', true],
    ['serverError', false],
    ['foreign', false],
    ['overloaded', false],
    ['mayBeAbsent', false],
  ] as const)('as its reader finds it: %s', async (end, isAnswer) => {
    const { upstream } = await useUpstream((_, response) => response.end());
    const outcomes = recordOutcomes(upstream);
    const response = await upstream.request({ method: 'GET', path: '/' });
    response.body.destroy();
    expect(outcomes).toEqual([]);
    response.report(end);
    expect(outcomes).toEqual([end]);
    expect(upstream.serverState.answered).toBe(isAnswer);
  });

  test('and each chunk of a body is recorded in the state of the server', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { upstream } = await useUpstream(async (_, response) => {
      response.write('a');
      await promise;
      response.end('b');
    });
    const { body } = await upstream.request({ method: 'GET', path: '/' });
    const { serverState } = upstream;
    const heard: number[] = [];
    await body.read(() => {
      heard.push(serverState.lastContactAt);
      setTimeout(resolve, 20);
    });
    expect(heard).toHaveLength(2);
    expect((heard[1] ?? 0) - (heard[0] ?? 0)).toBeGreaterThan(10);
  });

  test('when the server closes the connection, but not when the caller aborts', async () => {
    const { upstream } = await useUpstream(({ url, socket }) => {
      if (url === '/hang-up') socket.destroy();
    });
    const outcomes = recordOutcomes(upstream);
    const signal = AbortSignal.timeout(50);
    await upstream.request({ method: 'GET', path: '/wait', signal }).catch(() => undefined);
    expect(outcomes).toEqual([]);
    await upstream.request({ method: 'GET', path: '/hang-up' }).catch(() => undefined);
    expect(outcomes).toEqual(['unreachable']);
  });
});

// They failed, because a POST is not sent again.
test('requests that wait for the first connection are sent although the TLS options change', async () => {
  const { upstream, credentials } = await useUpstream((_request, response) => response.end());
  const post = async (): Promise<number> => {
    const request = { method: 'POST', path: '/', body: '{}', authorization: 'Bearer x' } as const;
    const { body, statusCode } = await upstream.request(request);
    body.destroy();
    return statusCode;
  };
  const posts = Promise.all([post(), post(), post()]);
  await Promise.resolve();
  credentials.setTls({});
  expect(await posts).toEqual([200, 200, 200]);
});
