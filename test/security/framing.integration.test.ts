import { beforeAll, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../embedded/api-server.ts';
import type { Admin } from '../../src/admin/admin.ts';
import type { NodeProxy } from '../../src/proxy/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { exchange, raw } from '../support/http/http-client.ts';
import { type HttpsWrapper, useHttps } from '../support/wrapper/https-wrapper.ts';
import { useAdmin, useCluster, useWrapper } from '../support/wrapper/use.ts';

const PATH = '/apis/events.k8s.io/v1/namespaces/default/events';
const SECOND = 'GET /second HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

let server: ApiServer;
let proxy: NodeProxy;
let secure: HttpsWrapper;
let admin: Admin;

beforeAll(async () => {
  server = useCluster();
  proxy = await useWrapper(await server.listen());
  secure = await useHttps();
  admin = await useAdmin(proxy);
});

const post = (headers: string, body: string): string =>
  `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n${body}`;

/** Status codes of the responses. */
async function codesOf(bytes: string): Promise<string[]> {
  return codesIn(await exchange(proxy.url, bytes));
}

function codesIn(answer: string): string[] {
  return [...answer.matchAll(/^HTTP\/1\.1 ([0-9]{3}) /gm)].map(([, code = '']) => code);
}

describe('a request that two servers could read differently', () => {
  test.each([
    [
      'a length and chunks (CL.TE)',
      post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${SECOND}`),
    ],
    [
      'chunks and a length (TE.CL)',
      post('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', `5c\r\n${SECOND}\r\n0\r\n\r\n`),
    ],
    ['two lengths', post('Content-Length: 0\r\nContent-Length: 52\r\n', SECOND)],
    ['the same length twice', post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}')],
    ['a list of lengths', post('Content-Length: 2, 2\r\n', '{}')],
    ['a length with a sign', post('Content-Length: +2\r\n', '{}')],
    ['a negative length', post('Content-Length: -2\r\n', '{}')],
    ['a hexadecimal length', post('Content-Length: 0x2\r\n', '{}')],
    ['a folded header (obs-fold)', post('X-A: b\r\n Content-Length: 2\r\n', '{}')],
    ['a folded Transfer-Encoding', post('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n')],
    ['a space before the colon', post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n')],
    ['an encoding that is none', post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n')],
    [
      'an encoding with a control character',
      post('Transfer-Encoding: \x0bchunked\r\n', '0\r\n\r\n'),
    ],
    ['the encoding identity', post('Transfer-Encoding: identity\r\n', SECOND)],
    [
      'the encoding identity with a length',
      post('Transfer-Encoding: identity\r\nContent-Length: 2\r\n', '{}'),
    ],
    [
      'two encodings',
      post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', '0\r\n\r\n'),
    ],
    ['an encoding before chunked', post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n')],
    [
      'chunks in HTTP/1.0',
      `POST ${PATH} HTTP/1.0\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['bare line feeds', `GET /api/v1/services HTTP/1.1\nHost: 127.0.0.1\n\n`],
    [
      'one bare line feed',
      'GET /api/v1/services HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: b\nX-B: c\r\n\r\n',
    ],
    [
      'a bare carriage return',
      'GET /api/v1/services HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: b\rX-B: c\r\n\r\n',
    ],
    [
      'a null byte in a header',
      'GET /api/v1/services HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: b\0c\r\n\r\n',
    ],
    ['an unknown version', 'GET /api/v1/services HTTP/1.2\r\nHost: 127.0.0.1\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    [
      'a whole URL as the path',
      'GET http://10.0.0.1/api/v1/services HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
    ],
  ])('%s: refused, and the bytes after it are not read as a request', async (_name, bytes) => {
    const before = server.requests.length;
    const codes = await codesOf(bytes);
    expect(codes[0]).toMatch(/^4(00|11)$/);
    expect(codes).toHaveLength(1);
    const seen = server.requests.slice(before).map(({ path }) => path);
    expect(seen.filter((path) => path === PATH || path === '/second')).toEqual([]);
  });

  test.each([
    ['with an extension', '2;a=b\r\n{}\r\n0\r\n\r\n'],
    ['with a line feed alone', '2\n{}\r\n0\r\n\r\n'],
    ['with a line feed in an extension', '2;a\n{}\r\n0\r\n\r\n'],
    ['with a size that overflows', 'ffffffffffffffff2\r\n{}\r\n0\r\n\r\n'],
    ['with a trailer', '0\r\nAuthorization: Bearer x\r\n\r\n'],
  ])('chunks %s never reach the API server', async (_name, body) => {
    const before = server.requests.length;
    const [code] = await codesOf(post('Transfer-Encoding: chunked\r\n', body));
    expect(code).toMatch(/^40[03]$/);
    expect(server.requests.slice(before).map(({ path }) => path)).not.toContain(PATH);
  });

  test('a tunnel is not opened', async () => {
    expect(await codesOf('CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: 10.0.0.1:443\r\n\r\n')).toEqual(
      [],
    );
  });

  test('the body of a read is not parsed as the next request', async () => {
    const inner = 'GET /api/v1/secrets HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
    const bytes = `GET /api/v1/services HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`;
    expect(await codesOf(bytes)).toEqual(['200']);
  });

  test('invalid bytes during a response do not cause an error in the middle of it', async () => {
    const { socket, received, closed } = raw(
      proxy.url,
      'GET /api/v1/services?watch=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
    );
    await eventually(() => received().includes('\r\n\r\n'), true);
    socket.write('\0garbage\r\n\r\n');
    await closed;
    expect(received().match(/HTTP\/1/g)).toHaveLength(1);
  });
});

/** Writes bytes to a listener; resolves with everything received until the listener ends the connection. */
const untilEnded = (url: string, bytes: string) => raw(url, bytes, { ca: secure.ca }).closed;

// Regression: a refusal left the connection open, and the bytes after the request were parsed as another request.
describe.each(['listen', 'https.listen', 'adminListen'])('on %s', (listener) => {
  const urls = () => ({
    listen: proxy.url,
    'https.listen': secure.proxy.httpsUrl ?? '',
    adminListen: admin.url,
  });
  const url = () => urls()[listener as keyof ReturnType<typeof urls>];
  const host = 'Host: 127.0.0.1\r\n';
  const auth = listener === 'https.listen' ? 'Authorization: Basic x\r\n' : '';
  const path = listener === 'adminListen' ? '/healthz' : '/api/v1/services';

  test.each([
    ['an encoding before chunked', `POST ${path} HTTP/1.1`, 'Transfer-Encoding: gzip, chunked'],
    ['chunks in HTTP/1.0', `POST ${path} HTTP/1.0`, 'Transfer-Encoding: chunked'],
    ['two Hosts', `GET ${path} HTTP/1.1`, 'Host: 127.0.0.1'],
    [
      'a length and chunks',
      `POST ${path} HTTP/1.1`,
      'Content-Length: 5\r\nTransfer-Encoding: chunked',
    ],
    ['a body that is not expected', `POST ${path} HTTP/1.1`, 'Content-Length: 100000'],
    ['chunks that are not expected', `POST ${path} HTTP/1.1`, 'Transfer-Encoding: chunked'],
    ['an invalid header', `GET ${path} HTTP/1.1`, 'X A: b'],
  ])('%s: one refusal, and the connection ends', async (_name, line, header) => {
    const head = `${line}\r\n${host}${auth}${header}\r\n\r\n`;
    const next = `GET ${path} HTTP/1.1\r\n${host}\r\n`;
    const answer = await untilEnded(url(), `${head}0\r\n\r\n${next}${next}`);
    expect(codesIn(answer)).toHaveLength(1);
    expect(answer).toMatch(/^HTTP\/1.1 4[0-9]{2} .*connection: close/is);
  });

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
