import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Admin } from '../../src/admin/admin.ts';
import { FRAMINGS } from '../support/attacks/framings.ts';
import { eventually } from '../support/eventually.ts';
import { exchange, raw } from '../support/http/http-client.ts';
import { type ReviewedRelay, useReviewedRelay } from '../support/relay/relay-fixture.ts';
import { type HttpsWrapper, useHttps } from '../support/wrapper/https-wrapper.ts';
import { useAdmin } from '../support/wrapper/use.ts';

let secure: HttpsWrapper;
let behind: ReviewedRelay;
let admin: Admin;

beforeAll(async () => {
  secure = await useHttps();
  behind = await useReviewedRelay();
  admin = await useAdmin(secure.proxy);
});

/** Status codes of the responses. */
function codesIn(answer: string): string[] {
  return [...answer.matchAll(/^HTTP\/1\.1 ([0-9]{3}) /gm)].map(([, code = '']) => code);
}

describe('on the http listener', () => {
  test('the body of a read is not parsed as the next request', async () => {
    const inner = 'GET /api/v1/secrets HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
    const bytes = `GET /api/v1/services HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`;
    expect(codesIn(await exchange(secure.proxy.url, bytes))).toEqual(['200']);
  });

  test('invalid bytes during a response do not cause an error in the middle of it', async () => {
    const { socket, received, closed } = raw(
      secure.proxy.url,
      'GET /api/v1/services?watch=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
    );
    await eventually(() => received().includes('\r\n\r\n'), true);
    socket.write('\0garbage\r\n\r\n');
    await closed;
    expect(received().match(/HTTP\/1/g)).toHaveLength(1);
  });
});

/** Writes bytes to a listener; resolves with everything received until the listener ends the connection. */
const untilEnded = (url: string, bytes: string) =>
  raw(url, bytes, { ca: url === behind.relay.url ? behind.ca : secure.ca }).closed;

// Regression: a refusal left the connection open, and the bytes after the request were parsed as another request.
describe.each(['listen', 'https.listen', 'adminListen', 'a relay'])('on %s', (listener) => {
  const urls = () => ({
    listen: secure.proxy.url,
    'https.listen': secure.proxy.httpsUrl ?? '',
    adminListen: admin.url,
    'a relay': behind.relay.url,
  });
  const url = () => urls()[listener as keyof ReturnType<typeof urls>];
  const host = 'Host: 127.0.0.1\r\n';
  const auth = ['https.listen', 'a relay'].includes(listener) ? 'Authorization: Basic x\r\n' : '';
  const path = listener === 'adminListen' ? '/healthz' : '/api/v1/services';

  /** A request is refused once with this code, the connection ends, and what follows is not read. */
  async function expectRefused(request: string, code: RegExp): Promise<void> {
    const next = `GET ${path} HTTP/1.1\r\n${host}\r\n`;
    const answer = await untilEnded(url(), `${request}0\r\n\r\n${next}${next}`);
    expect(codesIn(answer)).toEqual([expect.stringMatching(code)]);
    expect(answer).toMatch(/connection: close/i);
  }

  test.each(FRAMINGS)(
    '%s: refused, since two servers could read it differently',
    async (_, make) => {
      await expectRefused(make(auth), /^4(00|11)$/);
    },
  );

  test.each(['Host: 127.0.0.1', 'Content-Length: 100000', 'Transfer-Encoding: chunked'])(
    'a second Host, a body or chunks that are not expected: refused (%s)',
    async (header) => {
      await expectRefused(`POST ${path} HTTP/1.1\r\n${host}${auth}${header}\r\n\r\n`, /^4/);
    },
  );

  test('the client can read the refusal while it still writes its body', async () => {
    const head = `POST ${path} HTTP/1.1\r\n${host}${auth}Content-Length: 50000000\r\n\r\n`;
    const answer = await untilEnded(url(), head + 'x'.repeat(4 * 1024 * 1024));
    expect(codesIn(answer)).toHaveLength(1);
    expect(answer).toMatch(/^HTTP\/1.1 4[0-9]{2} .*connection: close.*\n\S/is);
  });

  test('a refusal of a request without a body keeps the connection', async () => {
    const one = `DELETE ${path} HTTP/1.1\r\n${host}${auth}\r\n`;
    const last = one.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
    const codes = codesIn(await untilEnded(url(), one + last));
    expect(codes).toHaveLength(2);
    expect(codes[0]).toBe(codes[1]);
  });
});

// A client that has switched protocols in its mind writes bytes that are no request.
describe.each([
  ['http', () => secure.proxy.url, ''],
  ['https', () => secure.proxy.httpsUrl ?? '', 'Authorization: Bearer caller\r\n'],
] as const)('after an offer to watch over a websocket, over %s,', (_name, url, auth) => {
  const watch = (seconds: number, path = '/api/v1/services', proof: string = auth): string =>
    `GET ${path}?watch=true&timeoutSeconds=${seconds} HTTP/1.1\r\nHost: 127.0.0.1\r\n` +
    `${proof}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
  const next = `GET /api/v1/nodes HTTP/1.1\r\nHost: 127.0.0.1\r\n${auth}\r\n`;

  test.each([
    ['with it', async () => {}],
    ['during the watch', () => delay(300)],
  ])('a request that comes %s is neither answered nor forwarded', async (_when, wait) => {
    secure.api.passed.length = 0;
    const { socket, received, closed } = raw(url(), watch(1), { ca: secure.ca });
    await wait();
    socket.write(next + next);
    await closed;
    expect(codesIn(received())).toEqual(['200']);
    expect(received()).toMatch(/connection: close/i);
    expect(received()).not.toMatch(/^upgrade:/im);
    expect(secure.api.passed).toEqual([]);
  });

  // Vert.x, below fabric8, falls back only when it has read the whole body.
  test('the watch ends after its first events', async () => {
    const answer = await raw(url(), watch(60), { ca: secure.ca }).closed;
    expect(codesIn(answer)).toEqual(['200']);
    expect(answer).toMatch(/"type":"ADDED".*\r\n0\r\n\r\n$/s);
  });

  if (auth !== '') {
    test('a watch of what no view serves ends with nothing, and is not forwarded', async () => {
      secure.api.passed.length = 0;
      const answer = await raw(url(), watch(60, '/api/v1/pods'), { ca: secure.ca }).closed;
      expect(codesIn(answer)).toEqual(['200']);
      expect(answer).toMatch(/connection: close/i);
      expect(answer).toMatch(/content-length: 0\r\n.*\r\n\r\n$/is);
      expect(secure.api.passed).toEqual([]);
    });

    test.each(['', 'Authorization: Bearer made-up\r\n'])(
      'whose caller is not known, it is refused (%j)',
      async (proof) => {
        secure.api.refuseIdentity = () => 401;
        const offer = watch(60, '/api/v1/pods', proof);
        const answer = await raw(url(), offer, { ca: secure.ca }).closed;
        secure.api.refuseIdentity = () => undefined;
        expect(codesIn(answer)).toEqual(['401']);
      },
    );
  }

  test('a frame of a websocket ends the connection, and nothing is added to the watch', async () => {
    const { socket, received, closed } = raw(url(), watch(60), { ca: secure.ca });
    await eventually(() => received().includes('\r\n\r\n'), true);
    socket.write('\x81\x85\x00\x00\x00\x00hello');
    await closed;
    expect(codesIn(received())).toEqual(['200']);
  });
});
