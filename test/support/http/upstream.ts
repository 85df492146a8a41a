import type { RequestListener } from 'node:http';
import { Upstream } from '../../../src/proxy/upstream/upstream.ts';
import { readBody, type UpstreamBody } from '../../../src/proxy/upstream/upstream-body.ts';
import { closedLater } from '../closed-later.ts';
import { FakeCredentials } from './credentials.ts';
import { idleLater, startServer, type TestServer } from './http-server.ts';
import { captureLogger } from './logger.ts';

/** A server and its client. */
export interface UpstreamHarness {
  readonly upstream: Upstream;
  readonly server: TestServer;
  readonly credentials: FakeCredentials;
  /** The lines of the log. */
  readonly lines: readonly string[];
}

/** Starts both, and closes them after the test. No connection may be left then. */
export async function useUpstream(
  listener: RequestListener,
  options: {
    readonly prefix?: string;
    readonly headersMs?: number;
  } = {},
): Promise<UpstreamHarness> {
  const server = idleLater(await startServer(listener));
  const credentials = new FakeCredentials(new URL(options.prefix ?? '', server.url));
  const { logger, lines } = captureLogger();
  const upstream = closedLater(new Upstream({ credentials, logger, ...options }));
  return { upstream, server, credentials, lines };
}

/** Reads a body to its end. */
export async function readText(body: UpstreamBody): Promise<string> {
  return String(await readBody({ headers: {}, body }, 1 << 24));
}
