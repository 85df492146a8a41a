import type { RequestListener } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import type { FakeCredentials } from '../../support/http/credentials.ts';
import { readText, useUpstream } from '../../support/http/upstream.ts';

/** Brings a request into a state, and calls `reached` then. */
interface Arrangement {
  readonly listener?: (reached: () => void) => RequestListener;
  readonly prepare?: (credentials: FakeCredentials, reached: () => void) => void;
}

const never = () => new Promise<never>(() => {});
const answer401: RequestListener = (_, response) =>
  response.writeHead(401, { connection: 'close' }).end();

const STATES: Readonly<Record<string, Arrangement>> = {
  'waits for headers': { listener: (reached) => reached },
  'has a body that is being read': {
    listener: (reached) => (_, response) => response.write('first', () => setTimeout(reached, 20)),
  },
  // A plugin may take a minute, and ignored every limit of the request.
  'waits for its credentials': {
    prepare: (credentials, reached) => {
      credentials.headers = () => {
        setImmediate(reached);
        return never();
      };
    },
  },
  'was answered 401 and waits for new credentials': {
    listener: () => answer401,
    prepare: (credentials, reached) => {
      credentials.refresh = () => {
        setImmediate(reached);
        return never();
      };
    },
  },
};

describe.each(Object.entries(STATES))('a request that %s', (_, { listener, prepare }) => {
  /** Starts the request; `ended` is how it ends. */
  async function start() {
    const { promise, resolve } = Promise.withResolvers<void>();
    const harness = await useUpstream(listener?.(resolve) ?? (() => {}));
    prepare?.(harness.credentials, resolve);
    const controller = new AbortController();
    const { signal } = controller;
    const request = harness.upstream.request({ method: 'GET', path: '/', signal });
    const ended = request.then(({ body }) => readText(body)).catch((error: unknown) => error);
    await promise;
    return { ...harness, controller, ended };
  }

  test('is ended by its signal', async () => {
    const { controller, ended, server } = await start();
    controller.abort(new Error('enough'));
    expect(await ended).toEqual(new Error('enough'));
    await server.idle();
  });

  test('is ended by close, which refuses new requests', async () => {
    const { upstream, ended, server, credentials } = await start();
    await upstream.close();
    expect(await ended).toMatchObject({ code: 'Unreachable' });
    await server.idle();
    expect(credentials.listeners).toBe(0);
    const { accepted } = server;
    const late = upstream.request({ method: 'GET', path: '/' });
    await expect(late).rejects.toMatchObject({ code: 'Unreachable' });
    expect(server.accepted).toBe(accepted);
  });
});

describe('an aborted signal', () => {
  test('of a request that waits for a connection prevents the request', async () => {
    let requests = 0;
    const { upstream } = await useUpstream((_request, response) => {
      requests++;
      response.end('ok');
    });
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = upstream.request({ method: 'GET', path: '/', signal });
    setImmediate(() => controller.abort(new Error('enough')));
    await expect(aborted).rejects.toThrow('enough');
    expect(await readText((await upstream.request({ method: 'GET', path: '/' })).body)).toBe('ok');
    expect(requests).toBe(1);
  });
});

describe('a body', () => {
  const endless: RequestListener = (_request, response) => {
    response.write('x'.repeat(200_000));
  };

  test('that is destroyed unread ends the request', async () => {
    const { upstream, server } = await useUpstream(endless);
    const { body } = await upstream.request({ method: 'GET', path: '/' });
    body.destroy();
    await server.idle();
  });

  test('whose server dies before it is read does not end the process, but fails when it is read', async () => {
    const { upstream, server } = await useUpstream((_request, response) => {
      response.write('x', () => setImmediate(() => response.destroy()));
    });
    const { body } = await upstream.request({ method: 'GET', path: '/' });
    await server.idle();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await expect(readText(body)).rejects.toMatchObject({ code: 'Unreachable' });
  });
});
