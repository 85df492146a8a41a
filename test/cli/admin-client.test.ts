import type { RequestListener } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { type AdminClient, createAdminClient } from '../../cli/client/admin-client.ts';
import { startServer, type TestServer } from '../support/http/http-server.ts';

let server: TestServer;
let client: AdminClient;

afterEach(async () => {
  await client.close();
  await server.close();
});

test('a response of more than 64 MiB is refused', async () => {
  const body = Buffer.alloc(64 * 1024 * 1024 + 1);
  server = await startServer((_, response) => void response.end(body));
  client = createAdminClient(server.url.origin);
  await expect(client.request('/')).rejects.toThrow(/exceed/);
});

const LATE = /^the wrapper at \S+ has not answered within 0\.5 s; see its log$/;

test.each<[string, RequestListener, RegExp]>([
  ['nothing', () => {}, LATE],
  ['the start of a response', (_, response) => void response.write('x'), LATE],
  [
    'a byte now and then',
    (_, response) => {
      const timer = setInterval(() => response.write('x'), 20);
      response.once('close', () => clearInterval(timer));
    },
    LATE,
  ],
  [
    'a part of the response',
    (_, response) => {
      response.writeHead(200, { 'content-length': 10 }).write('x');
      setTimeout(() => response.destroy(), 20);
    },
    /closed/,
  ],
])('a server that sends %s is given up in time', async (_, listener, message) => {
  server = await startServer(listener);
  client = createAdminClient(server.url.origin, { timeoutMs: 500 });
  const answer = client.request('/');
  await expect(answer).rejects.toMatchObject({
    code: message === LATE ? 'Unanswered' : 'Unreachable',
    message: expect.stringMatching(message),
  });
});

/** A response with this status and body. */
const sends =
  (status: number, body: unknown): RequestListener =>
  (_, response) =>
    void response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));

const PATHS = 'unknown path; the paths are /, /healthz, /readyz and /metrics\n';
const limit = 'kube-proxy-wrapper: 16 requests of this kind are active';

// They were once cast to the answer of a wrapper, and any 404 was that of an older wrapper.
test.each<[what: string, RequestListener, code: string, message: string]>([
  ['a page', sends(200, '<html>\n</html>'), 'Unreachable', '(HTTP 200: <html>); check'],
  ['nothing', sends(200, 'null'), 'Unreachable', '(HTTP 200: null); check'],
  ['other JSON', sends(200, { lines: [] }), 'Unreachable', '(HTTP 200: {"lines":[]}); check'],
  [
    'another 404',
    sends(404, '404 page not found\n'),
    'Unreachable',
    'does not answer as the admin port of a wrapper (HTTP 404: 404 page not found); check that it runs on this node',
  ],
  [
    'another error',
    sends(404, { error: 'no' }),
    'Unreachable',
    '(HTTP 404: {"error":"no"}); check',
  ],
  [
    'a Status of another port',
    sends(403, { kind: 'Status', message: 'not allowed' }),
    'Unreachable',
    '(HTTP 403: not allowed), but as the port of listen or an API server; check',
  ],
  ['a Status of its listener', sends(503, { kind: 'Status', message: limit }), 'NotReady', limit],
  ['an error', sends(503, { code: 'NotReady', error: 'not yet' }), 'NotReady', 'not yet'],
  ['its paths', sends(404, PATHS), 'NotFound', PATHS.trim()],
])('a server that sends %s is told from a wrapper', async (_, listener, code, message) => {
  server = await startServer(listener);
  client = createAdminClient(server.url.origin);
  const answer = client.request('/status');
  await expect(answer).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
  await expect(answer).rejects.not.toThrow(/\n/);
});
