import type { IncomingMessage, RequestListener } from 'node:http';
import type { TlsOptions } from '../../../src/client/credentials/credentials.ts';
import type { WrapperError } from '../../../src/errors.ts';
import { Passthrough, type PassthroughOptions } from '../../../src/server/forward/passthrough.ts';
import { FakeCredentials } from './credentials.ts';
import { startServer, type TestServer } from './http-server.ts';
import { captureLogger } from './logger.ts';

/** A server, a passthrough to it, and a server in front of that. */
export interface PassthroughHarness {
  readonly passthrough: Passthrough;
  readonly credentials: FakeCredentials;
  /** The server for clients. */
  readonly front: TestServer;
  /** The server that stands for the API server. */
  readonly back: TestServer;
  /** Errors of the passthrough; each was answered with 503. */
  readonly errors: WrapperError[];
  /** Closes everything; rejects if a connection to `back` is left after the passthrough was closed. */
  close(): Promise<void>;
}

export async function startPassthrough(
  listener: RequestListener,
  options: Partial<Pick<PassthroughOptions, 'headersMs'>> & {
    readonly prefix?: string;
    /** TLS options of `back`, which requests client certificates. */
    readonly serverTls?: TlsOptions;
    readonly clientTls?: TlsOptions;
    /** Called after an error was answered. */
    readonly onAnswered?: (request: IncomingMessage) => void;
  } = {},
): Promise<PassthroughHarness> {
  const { prefix = '', serverTls, clientTls, onAnswered, ...rest } = options;
  const mutual = { ...serverTls, requestCert: true, rejectUnauthorized: false };
  const back = await startServer(listener, serverTls === undefined ? undefined : mutual);
  const credentials = new FakeCredentials(new URL(prefix, back.url), clientTls);
  const errors: WrapperError[] = [];
  const passthrough = new Passthrough({
    ...rest,
    serverAccess: credentials,
    logger: captureLogger().logger,
    onError: (error, request, response) => {
      errors.push(error);
      response.writeHead(503).end(error.code);
      onAnswered?.(request);
    },
  });
  const front = await startServer((request, response) => passthrough.forward(request, response));
  const close = async (): Promise<void> => {
    await passthrough.close();
    await back.idle();
    await Promise.all([front.close(), back.close()]);
  };
  return { passthrough, credentials, front, back, errors, close };
}
