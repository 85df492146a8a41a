import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WrapperError } from '../errors.ts';
import { statusOf } from './status.ts';

/** Bounds of what one door takes from its clients. */
export interface DoorBounds {
  /** Connections that are served at once (maxConnections). */
  readonly maxConnections: number;
  /** Bytes of the headers of one request (maxHeaderBytes). */
  readonly maxHeaderBytes: number;
  /**
   * How long the headers of a request may take to arrive, in milliseconds (headersTimeoutSeconds); over https
   * first as long for the TLS handshake.
   */
  readonly headersTimeoutMs: number;
  /** How long a whole request may take to arrive, in milliseconds (requestTimeoutSeconds). */
  readonly requestTimeoutMs: number;
}

/** Used where nobody sets others. */
export const DEFAULT_BOUNDS: DoorBounds = {
  maxConnections: 256,
  maxHeaderBytes: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
};

/** The error for bytes that are no request, or one that exceeds a bound; `error` is that of Node's parser. */
export function parserRefusal(error: NodeJS.ErrnoException, bounds: DoorBounds): WrapperError {
  const { maxHeaderBytes, headersTimeoutMs, requestTimeoutMs } = bounds;
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return limit(
        431,
        'RequestHeaderFieldsTooLarge',
        `the headers take more than ${maxHeaderBytes} bytes (maxHeaderBytes)`,
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return limit(
        408,
        'RequestTimeout',
        `the request did not arrive within ${headersTimeoutMs / 1000} s for its headers ` +
          `(headersTimeoutSeconds) and ${requestTimeoutMs / 1000} s in all (requestTimeoutSeconds)`,
      );
    default:
      return new WrapperError('BadRequest', `this is no HTTP/1.1 request (${error.code})`);
  }
}

/** The error for a connection beyond the bound. */
export function connectionRefusal({ maxConnections }: DoorBounds): WrapperError {
  return new WrapperError(
    'LimitExceeded',
    `${maxConnections} connections are open already (maxConnections)`,
  );
}

/** The error for a request body beyond the bound of that name. */
export function bodyRefusal(bound: number, name: string): WrapperError {
  return limit(413, 'RequestEntityTooLarge', `the body takes more than ${bound} bytes (${name})`);
}

function limit(code: number, reason: string, message: string): WrapperError {
  const status = { code, reason, message: `kube-proxy-wrapper: ${message}` };
  return new WrapperError('LimitExceeded', message, { status });
}

/** Writes a Status, as JSON, on a connection that has no response object, and ends it. */
export function refuseSocket(socket: Duplex, error: unknown, current?: ServerResponse): void {
  // In the middle of an answer a second one would pass for a part of it.
  if (!socket.writable || (current?.headersSent === true && !current.writableFinished)) {
    socket.destroy();
    return;
  }
  socket.on('error', () => {});
  const { code, reason, message, retryAfterSeconds } = statusOf(error);
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' };
  const body = JSON.stringify({ ...status, message, reason, code });
  const head = [
    `HTTP/1.1 ${code} ${reason}`,
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(retryAfterSeconds === undefined ? [] : [`Retry-After: ${retryAfterSeconds}`]),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
