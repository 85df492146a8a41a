import {
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { WrapperError } from '../../errors.ts';
import { statusOf } from '../api/status.ts';

/** Bounds of what one door takes from its clients. */
export interface ListenerLimits {
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
export const DEFAULT_LISTENER_LIMITS: ListenerLimits = {
  maxConnections: 256,
  maxHeaderBytes: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
};

/** The error for bytes that are no request, or one that exceeds a bound; `error` is that of Node's parser. */
export function fromParserError(
  error: NodeJS.ErrnoException,
  bounds: ListenerLimits,
): WrapperError {
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

/** The error for a request beyond the bound of its kind, or of all. */
export function tooManyRequests({ maxConnections }: ListenerLimits, ofKind?: number): WrapperError {
  const message =
    ofKind === undefined
      ? `${maxConnections} connections are in use already (maxConnections)`
      : `${ofKind} requests of this kind, or ${maxConnections} in all (maxConnections), are under way`;
  return new WrapperError('LimitExceeded', message);
}

/** The error for a request body beyond the bound of that name. */
export function payloadTooLarge(bound: number, name: string): WrapperError {
  return limit(413, 'RequestEntityTooLarge', `the body takes more than ${bound} bytes (${name})`);
}

function limit(code: number, reason: string, message: string): WrapperError {
  const status = { code, reason, message: `kube-proxy-wrapper: ${message}` };
  return new WrapperError('LimitExceeded', message, { status });
}

/** How long a client may take to read a refusal after which its connection ends, in milliseconds. */
const LINGER_MS = 1_000;

/** Writes a Status, as JSON, on a connection that has no response object, and ends it. */
export function respondAndDestroy(socket: Duplex, error: unknown, current?: ServerResponse): void {
  // It has been refused already, or its last answer is on its way.
  if (socket.writableEnded) return;
  // In the middle of an answer a second one would pass for a part of it.
  if (!socket.writable || (current?.headersSent === true && !current.writableFinished)) {
    socket.destroy();
    return;
  }
  const { code, reason, message, retryAfterSeconds } = statusOf(error);
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' };
  const body = JSON.stringify({ ...status, message, reason, code });
  const headers = {
    'content-type': 'application/json',
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  };
  endWith(socket, { code, headers, body }, true);
}

/** An answer to a request that is refused. */
export interface ErrorAnswer {
  /** HTTP status. */
  readonly code: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer | string;
}

/** Whether a request has a body by its headers, which may not have arrived yet. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) !== 0 || 'transfer-encoding' in headers;
}

/**
 * Answers a request that is refused. When its body has not been read the connection ends: what comes next on
 * it may be that body, or another request, and nobody can tell (RFC 9112, sections 6.1 and 6.3).
 */
export function refuseRequest(
  request: IncomingMessage,
  response: ServerResponse,
  answer: ErrorAnswer,
): void {
  if (request.complete || !hasBody(request) || request.socket.writableEnded) {
    response.writeHead(answer.code, answer.headers).end(answer.body);
    return;
  }
  const all = { ...response.getHeaders(), ...answer.headers };
  endWith(request.socket, { ...answer, headers: all }, request.method !== 'HEAD');
  request.resume();
}

/**
 * Writes an answer as the last bytes of a connection. What the client still sends is read and dropped for a
 * while: a connection that is closed with unread bytes is reset, and the client might lose the answer.
 */
function endWith(socket: Duplex, { code, headers, body }: ErrorAnswer, withBody: boolean): void {
  socket.on('error', () => {});
  const all = { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ''}\r\n${lines.join('')}\r\n`;
  socket.cork();
  socket.write(head);
  if (withBody) socket.write(body);
  socket.end();
  socket.uncork();
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
