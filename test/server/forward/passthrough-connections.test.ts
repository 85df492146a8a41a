import type { RequestListener, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { issue, type KeyPair, makeAuthority } from '../../../harness/certificates.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, open } from '../../support/http/http-client.ts';
import { type PassthroughHarness, startPassthrough } from '../../support/http/passthrough.ts';

let harness: PassthroughHarness;

async function setUp(...args: Parameters<typeof startPassthrough>): Promise<PassthroughHarness> {
  harness = closedLater(await startPassthrough(...args));
  return harness;
}

describe('connections to the API server', () => {
  let authority: KeyPair;
  let serverTls: { cert: string; key: string; ca: string };
  let alice: KeyPair;
  let bob: KeyPair;
  let watches: ServerResponse[] = [];

  beforeAll(async () => {
    authority = await makeAuthority();
    serverTls = { ...(await issue(authority, 'kubernetes')), ca: authority.cert };
    alice = await issue(authority, 'alice');
    bob = await issue(authority, 'bob');
  });

  afterEach(() => {
    watches = [];
  });

  const whoAmI: RequestListener = (request, response) => {
    const name = (request.socket as TLSSocket).getPeerCertificate().subject?.CN ?? 'nobody';
    response.write(String(name));
    if (request.url === '/watch') watches.push(response);
    else response.end();
  };

  test('our client certificate is never shown', async () => {
    const clientTls = { ca: authority.cert, servername: 'kubernetes', ...alice };
    const { front } = await setUp(whoAmI, { serverTls, clientTls });
    expect((await ask(front.url)).body).toBe('nobody');
  });

  test('a server of another authority is Unreachable', async () => {
    const clientTls = { ca: (await makeAuthority('other')).cert };
    const { front, errors } = await setUp(whoAmI, { serverTls, clientTls });
    // A write too: nothing of it was sent.
    expect((await ask(front.url, { method: 'POST', body: 'x' })).body).toBe('Unreachable');
    expect(errors[0]?.message).toContain('SELF_SIGNED_CERT_IN_CHAIN');
  });

  test('changed TLS files are used by the next request; idle connections are closed, streams stay', async () => {
    const clientTls = { ca: authority.cert, ...alice };
    const { front, back, credentials } = await setUp(whoAmI, { serverTls, clientTls });
    await ask(front.url);
    const watch = await open(new URL('/watch', front.url));
    watch.resume();
    await ask(front.url);
    expect(back.connections.size).toBe(2);
    credentials.setTls({ ca: authority.cert, ...bob });
    await eventually(() => back.connections.size === 1, true);
    const { accepted } = back;
    await ask(front.url);
    expect(back.accepted).toBe(accepted + 1);
    expect(watch.destroyed).toBe(false);
    watches[0]?.end();
    await eventually(() => back.connections.size === 1, true);
    expect(watch.complete).toBe(true);
  });

  test('close ends responses midway, and refuses later requests', async () => {
    const { front, passthrough, credentials, back } = await setUp((_request, response) => {
      response.write('x');
    });
    const response = await open(front.url);
    const reading = expect(text(response)).rejects.toThrow();
    await passthrough.close();
    await Promise.all([reading, back.idle()]);
    expect(credentials.listeners).toBe(0);
    expect((await ask(front.url)).body).toBe('Unreachable');
    expect(back.accepted).toBe(1);
  });

  test('close ends a request that was started just before it and has no connection yet', async () => {
    const { front, passthrough } = await setUp(() => {});
    front.server.removeAllListeners('request').on('request', async (request, response) => {
      passthrough.forward(request, response);
      // Microtasks: the request is started, and the tick that tells of it has not come.
      for (let n = 0; n < 10; n++) await undefined;
      void passthrough.close();
    });
    expect((await ask(front.url)).body).toBe('Unreachable');
  });
});
