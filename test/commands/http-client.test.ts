import type { RequestListener } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { createHttpClient, type HttpClient } from '../../src/commands/client/http-client.ts';
import { startServer, type TestServer } from '../support/http/http-server.ts';

const LIMITS = { timeoutMs: 300, maxBytes: 100_000 } as const;

let server: TestServer;
let client: HttpClient;

afterEach(async () => {
  await client.close();
  await server.close();
});

async function start(listener: RequestListener): Promise<void> {
  server = await startServer(listener);
  client = createHttpClient(server.url.origin, LIMITS);
}

test('a response is whole, whatever its status, and the next one comes over the same connection', async () => {
  const ports = new Set<number | undefined>();
  await start(({ socket }, response) => {
    ports.add(socket.remotePort);
    response.writeHead(404).end('ä'.repeat(50_000));
  });
  for (const path of ['/a', '/b?c=d']) {
    expect(await client.get(path)).toEqual({ statusCode: 404, text: 'ä'.repeat(50_000) });
  }
  expect(ports.size).toBe(1);
});

test('a response with one byte too many is an error that names the limit', async () => {
  await start((_, response) => {
    response.end('x'.repeat(LIMITS.maxBytes + 1));
  });
  await expect(client.get('/')).rejects.toThrow('the response has more than 100000 bytes');
});

test.each<[string, RequestListener]>([
  ['nothing', () => {}],
  ['the start of a response', (_, response) => void response.write('x')],
  [
    'a byte now and then',
    (_, response) => {
      const timer = setInterval(() => response.write('x'), 20);
      response.once('close', () => clearInterval(timer));
    },
  ],
])('a server that sends %s is given up in time', async (_, listener) => {
  await start(listener);
  const started = performance.now();
  await expect(client.get('/')).rejects.toThrow(/timeout/);
  expect(performance.now() - started).toBeLessThan(5_000);
});

test('a response that breaks off is an error', async () => {
  await start((_, response) => {
    response.writeHead(200, { 'content-length': 10 }).write('x');
    setTimeout(() => response.destroy(), 20);
  });
  await expect(client.get('/')).rejects.toThrow();
});
