import { beforeAll, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import type { Admin } from '../../src/admin/admin.ts';
import type { NodeProxy } from '../../src/proxy/node-proxy.ts';
import { exchange } from '../support/http/http-client.ts';
import { useAdmin, useCluster, useWrapper } from '../support/wrapper/use.ts';

const SERVICES = '/api/v1/services';
const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';

let server: ApiServer;
let proxy: NodeProxy;
let admin: Admin;

beforeAll(async () => {
  server = useCluster();
  proxy = await useWrapper(await server.listen());
  admin = await useAdmin(proxy);
});

/** Sends a request with exactly these headers. */
function get(url: string, path: string, headers: string, method = 'GET'): Promise<string> {
  return exchange(url, `${method} ${path} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`);
}

describe.each([
  ['the http listener', () => [proxy.url, SERVICES] as const],
  ['the admin listener', () => [admin.url, '/healthz'] as const],
])('%s', (_name, where) => {
  test.each([
    '127.0.0.1',
    '127.0.0.1:10360',
    '[::1]:10360',
    '[::1]',
    '127.9.9.9',
    'localhost',
    'LOCALHOST:1',
  ])('answers to the Host %s', async (host) => {
    const [url, path] = where();
    expect(await get(url, path, `Host: ${host}\r\n`)).toMatch(/^HTTP\/1.1 200 /);
  });

  test.each([
    ['a name that was pointed at us (DNS rebinding)', 'Host: evil.example\r\n'],
    ['a name that looks like an address', 'Host: 127.0.0.1.nip.io\r\n'],
    ['a name that looks like localhost', 'Host: localhost.evil.example\r\n'],
    ['a user before the address', 'Host: evil@127.0.0.1\r\n'],
    ['an address without brackets', 'Host: ::1\r\n'],
    ['an address that the connection is not to', 'Host: 192.0.2.1:10360\r\n'],
    ['an empty Host', 'Host:\r\n'],
    ['a web page of another origin', 'Host: 127.0.0.1\r\nOrigin: https://evil.example\r\n'],
    ['a web page without an origin', 'Host: 127.0.0.1\r\nOrigin: null\r\n'],
    ['an image in a web page', 'Host: 127.0.0.1\r\nSec-Fetch-Site: cross-site\r\n'],
    ['a web page on another port', 'Host: 127.0.0.1\r\nSec-Fetch-Site: same-site\r\n'],
  ])('refuses %s', async (_case, headers) => {
    const [url, path] = where();
    const answer = await get(url, path, headers);
    expect(answer).toMatch(/^HTTP\/1.1 403 /);
    expect(answer).not.toMatch(/access-control/i);
  });

  test('accepts a request that a user typed into a browser', async () => {
    const [url, path] = where();
    const headers = 'Host: 127.0.0.1\r\nSec-Fetch-Site: none\r\n';
    const answer = await get(url, path, headers);
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
    expect(answer).not.toMatch(/access-control/i);
  });

  test('refuses a request without Host, and one with two', async () => {
    const [url, path] = where();
    expect(await get(url, path, '')).toMatch(/^HTTP\/1.1 400 /);
    const two = await get(url, path, 'Host: 127.0.0.1\r\nHost: evil.example\r\n');
    expect(two).toMatch(/^HTTP\/1.1 40[03] /);
    const old = await exchange(url, `GET ${path} HTTP/1.0\r\n\r\n`);
    expect(old).toMatch(/^HTTP\/1.1 403 /);
  });

  test('refuses a preflight request', async () => {
    const [url, path] = where();
    const headers =
      'Host: 127.0.0.1\r\nOrigin: http://a\r\nAccess-Control-Request-Method: POST\r\n';
    const answer = await get(url, path, headers, 'OPTIONS');
    expect(answer).toMatch(/^HTTP\/1.1 403 /);
    expect(answer).not.toMatch(/access-control/i);
  });
});

describe('the http listener', () => {
  test('refuses impersonation', async () => {
    const headers = 'Host: 127.0.0.1\r\nImpersonate-User: admin\r\n';
    expect(await get(proxy.url, SERVICES, headers)).toMatch(/^HTTP\/1.1 403 /);
  });

  test.each([
    [`${SERVICES}?watch=true`, '', 503],
    [`${SERVICES}?watch=true`, 'Origin: https://evil.example\r\n', 403],
    ['/api/v1/namespaces/a/pods/b/exec?command=id', '', 403],
  ])('refuses to switch protocols for %s', async (path, more, code) => {
    const headers = `Host: 127.0.0.1\r\n${more}Connection: Upgrade\r\nUpgrade: websocket\r\n`;
    const answer = await exchange(proxy.url, `GET ${path} HTTP/1.1\r\n${headers}\r\n`);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${code} .*"kind":"Status".*"code":${code}`, 's'));
  });

  function post(headers: string, body: string): Promise<string> {
    const bytes = `POST ${EVENTS} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${headers}\r\n${body}`;
    return exchange(proxy.url, bytes);
  }

  test.each([
    ['that is larger than any buffer', 'Content-Length: 100000000\r\n', ''],
    ['of unknown size', 'Transfer-Encoding: chunked\r\n', '1\r\nx\r\n0\r\n\r\n'],
    ['whose body never arrives', 'Content-Length: 300\r\n', '{'],
  ])('refuses an Event %s with a reason, and sends nothing', async (_name, headers, body) => {
    const before = server.requests.length;
    expect(await post(headers, body)).toMatch(
      /^HTTP\/1.1 403 .*"message":"[^"]*plain http is only for what kube-proxy reads/s,
    );
    expect(server.requests.slice(before).map(({ method }) => method)).not.toContain('POST');
  });

  test.each(['0.0.0.0', '::', '10.1.2.3', '192.168.0.1', '::ffff:127.0.0.1'])(
    'does not listen on %s',
    async (host) => {
      const options = { http: { host, port: 0 } };
      await expect(useWrapper('http://127.0.0.1:1', options)).rejects.toMatchObject({
        code: 'InvalidSettings',
        message: expect.stringMatching(/loopback only/),
      });
    },
  );
});

// Regression: `new URL` parses a host after two slashes, and threw. There was no response, but an error in the log.
test.each(['//', '//explain', '///', 'http://', '/%', '/\\', '//[', '*'])(
  'the admin listener answers 404 to the path %s',
  async (path) => {
    expect(await get(admin.url, path, 'Host: localhost\r\n')).toMatch(/^HTTP\/1.1 404 /);
  },
);
