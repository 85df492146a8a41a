import type { RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createUpstream, type Upstream } from '../../../src/proxy/upstream/upstream.ts';
import { eventually } from '../../support/eventually.ts';
import { answerProbe } from '../../support/http/api-answers.ts';
import { FakeCredentials } from '../../support/http/credentials.ts';
import { FOREIGN_ANSWERS } from '../../support/http/foreign-answers.ts';
import { startServer, type TestServer } from '../../support/http/http-server.ts';
import { captureLogger } from '../../support/http/logger.ts';

const apiServer: RequestListener = (_request, response) => answerProbe(response);

let first: TestServer;
let second: TestServer;
/** How the first server answers. */
let listener: RequestListener;
let upstream: Upstream;

beforeEach(async () => {
  first = await startServer((request, response) => listener(request, response));
  second = await startServer(apiServer);
  const { logger } = captureLogger();
  const credentials = new FakeCredentials(first.url);
  upstream = createUpstream({ credentials, servers: [second.url], returnMs: 10, logger });
});

afterEach(async () => {
  await upstream.close();
  await Promise.all([first.close(), second.close()]);
});

const inUse = () => upstream.failover.servers[0]?.port;

describe.each(Object.entries(FOREIGN_ANSWERS))('a server that answers with %s', (_, answer) => {
  beforeEach(() => {
    const { statusCode, headers, body } = answer;
    listener = (_request, response) => response.writeHead(statusCode, headers).end(body);
  });

  test('is not found by a search', async () => {
    expect(await upstream.search()).toBe(true);
    expect(inUse()).toBe(second.url.port);
  });

  test('has given no answer to a health check', async () => {
    expect(await upstream.probe(first.url)).toBeUndefined();
    expect(upstream.serverState.answered).toBe(false);
    expect(await upstream.probe(second.url)).toBe('usable');
  });

  test('is not used again before an API server answers there', async () => {
    upstream.failover.take(second.url);
    const before = first.accepted;
    await eventually(() => first.accepted >= before + 5, true);
    expect(inUse()).toBe(second.url.port);
    listener = apiServer;
    await eventually(() => inUse() === first.url.port, true);
  });
});
