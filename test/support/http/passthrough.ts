import type { IncomingMessage, RequestListener } from 'node:http';
import type { TlsOptions } from '../../../src/client/credentials/credentials.ts';
import type { WrapperError } from '../../../src/errors.ts';
import { Passthrough, type PassthroughOptions } from '../../../src/server/forward/passthrough.ts';
import { recordingLogger } from '../recording-logger.ts';
import { FakeCredentials } from './credentials.ts';
import { startServer } from './http-server.ts';

/** A passthrough between a server for clients and one that stands for the API server. */
export type PassthroughHarness = Awaited<ReturnType<typeof startPassthrough>>;

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
) {
  const { prefix = '', serverTls, clientTls, onAnswered, ...rest } = options;
  const mutual = { ...serverTls, requestCert: true, rejectUnauthorized: false };
  const back = await startServer(listener, serverTls === undefined ? undefined : mutual);
  const credentials = new FakeCredentials(new URL(prefix, back.url), clientTls);
  const errors: WrapperError[] = [];
  const passthrough = new Passthrough({
    ...rest,
    serverAccess: credentials,
    logger: recordingLogger().logger,
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
  return {
    passthrough,
    credentials,
    /** The server for clients. */
    front,
    /** The server that stands for the API server. */
    back,
    /** Errors of the passthrough; each was answered with 503. */
    errors,
    /** Closes everything; rejects if a connection to `back` is left after the passthrough was closed. */
    close,
  };
}
