import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../embedded/api-server.ts';
import type { NodeProxy } from '../../src/proxy/node-proxy.ts';
import { raw } from '../support/http-client.ts';
import { until } from '../support/http-until.ts';
import { exchange } from '../support/review-server.ts';
import { createSmallCluster } from '../support/small-cluster.ts';
import { startWrapper } from '../support/wrapper-fixture.ts';

const PATH = '/apis/events.k8s.io/v1/namespaces/default/events';
const SECOND = 'GET /second HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

let server: ApiServer;
let proxy: NodeProxy;

beforeAll(async () => {
  server = createSmallCluster();
  proxy = await startWrapper(await server.listen());
});

afterAll(async () => {
  await proxy.close();
  await server.close();
});

const post = (headers: string, body: string): string =>
  `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n${body}`;

/** Status codes of the answers. */
async function codesOf(bytes: string): Promise<string[]> {
  const answer = await exchange(Number(new URL(proxy.url).port), bytes);
  return [...answer.matchAll(/^HTTP\/1\.1 ([0-9]{3}) /gm)].map(([, code = '']) => code);
}

describe('a request that two servers could read in two ways', () => {
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
  ])('%s: refused, and nothing after it is read', async (_name, bytes) => {
    const before = server.requests.length;
    const codes = await codesOf(bytes);
    expect(codes[0]).toMatch(/^4(00|11)$/);
    // A second request was never sent by the client as such; it may only be seen as no http.
    expect(codes.slice(1).every((code) => code === '400')).toBe(true);
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
    expect(code).toBe('411');
    expect(server.requests.slice(before).map(({ path }) => path)).not.toContain(PATH);
  });

  test('a tunnel is not opened', async () => {
    expect(await codesOf('CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: 10.0.0.1:443\r\n\r\n')).toEqual(
      [],
    );
  });

  test('the body of a read is not taken for the next request', async () => {
    const inner = 'GET /api/v1/secrets HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
    const bytes = `GET /api/v1/services HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`;
    expect(await codesOf(bytes)).toEqual(['200']);
  });

  test('garbage during an answer does not end up in the middle of it', async () => {
    const { socket, received, closed } = raw(
      new URL(proxy.url),
      'GET /api/v1/services?watch=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
    );
    await until(() => received().includes('\r\n\r\n'), 'the headers of the watch');
    socket.write('\0garbage\r\n\r\n');
    await closed;
    expect(received().match(/HTTP\/1/g)).toHaveLength(1);
  });
});
