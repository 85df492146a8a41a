import type { RequestListener } from 'node:http';
import { afterEach } from '@jest/globals';
import { createUpstream, type Upstream } from '../../../src/proxy/upstream/upstream.ts';
import { FakeCredentials } from './credentials.ts';
import { startServer, type TestServer } from './http-server.ts';
import { captureLogger } from './logger.ts';

/**
 * {@link startUpstream} for the tests of a file. What a test has started is closed after it, and no connection may be
 * left then.
 */
export function upstreamPerTest(): typeof startUpstream {
  const started: UpstreamHarness[] = [];
  afterEach(async () => {
    for (const harness of started.splice(0)) await harness.close();
  });
  return async (...args) => {
    const harness = await startUpstream(...args);
    started.push(harness);
    return harness;
  };
}

/** A server and its client. */
export interface UpstreamHarness {
  readonly upstream: Upstream;
  readonly server: TestServer;
  readonly credentials: FakeCredentials;
  /** The lines of the log. */
  readonly lines: readonly string[];
  /** Closes both; rejects if a connection is left after the upstream was closed. */
  close(): Promise<void>;
}

export async function startUpstream(
  listener: RequestListener,
  options: {
    readonly prefix?: string;
    readonly headersMs?: number;
  } = {},
): Promise<UpstreamHarness> {
  const server = await startServer((request, response) => {
    // The wrapper asks for it over HTTP/1.1 now and then, to find connections that are dead.
    if (request.url === '/version') response.end('{}');
    else listener(request, response);
  });
  const credentials = new FakeCredentials(new URL(options.prefix ?? '', server.url));
  const { logger, lines } = captureLogger();
  const upstream = createUpstream({ credentials, logger, ...options });
  const close = async (): Promise<void> => {
    await upstream.close();
    await server.idle();
    await server.close();
  };
  return { upstream, server, credentials, lines, close };
}
