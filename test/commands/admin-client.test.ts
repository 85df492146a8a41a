import type { RequestListener } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { type AdminClient, createAdminClient } from '../../src/commands/client/admin-client.ts';
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

test.each<[string, RequestListener, RegExp]>([
  ['nothing', () => {}, /timeout/],
  ['the start of a response', (_, response) => void response.write('x'), /timeout/],
  [
    'a byte now and then',
    (_, response) => {
      const timer = setInterval(() => response.write('x'), 20);
      response.once('close', () => clearInterval(timer));
    },
    /timeout/,
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
    code: 'Unreachable',
    message: expect.stringMatching(message),
  });
});
