import {
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { CODECS } from '../../client/api/codecs.ts';
import { MEDIA_TYPES, statusEncoding } from '../../client/api/media-type.ts';
import { statusOf } from '../../client/api/status.ts';
import { WrapperError } from '../../errors.ts';
import type { Encoding } from '../../filter/codec/codec.ts';
import type { ListenerLimits } from './listener-limits.ts';

/** Maps an error of Node's parser: the bytes are not a request, or the request exceeds a limit. */
export function fromParserError(
  error: NodeJS.ErrnoException,
  limits: ListenerLimits,
): WrapperError {
  const { maxHeaderBytes, headersTimeoutMs, requestTimeoutMs } = limits;
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return limitExceeded(
        431,
        'RequestHeaderFieldsTooLarge',
        `the headers take more than ${maxHeaderBytes} bytes`,
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return limitExceeded(
        408,
        'RequestTimeout',
        `the request did not arrive within ${headersTimeoutMs / 1000} s for its headers and ` +
          `${requestTimeoutMs / 1000} s in all`,
      );
    default:
      return new WrapperError('BadRequest', `this is not an HTTP/1.1 request (${error.code})`);
  }
}

/** The error for a request beyond the limit of its kind, or the limit of all requests. */
export function tooManyRequests({ maxConnections }: ListenerLimits, ofKind?: number): WrapperError {
  const message =
    ofKind === undefined
      ? `${maxConnections} connections are in use already (maxConnections)`
      : `${ofKind} requests of this kind, or ${maxConnections} in all (maxConnections), are active`;
  return new WrapperError('LimitExceeded', message);
}

function limitExceeded(code: number, reason: string, message: string): WrapperError {
  return new WrapperError('LimitExceeded', message, { status: { code, reason } });
}

/** How long a client may take to read a refusal that ends its connection, in milliseconds. */
const LINGER_MS = 1_000;

/** Writes a Status as JSON on a connection that has no response object, and ends the connection. */
export function respondAndDestroy(socket: Duplex, error: unknown, current?: ServerResponse): void {
  // It was refused already, or its last response is written.
  if (socket.writableEnded) return;
  // In the middle of a response, the client would read the Status as part of that response. Before the response to an
  // earlier request, it would take the Status for that response.
  const isEarlier = current?.headersSent === true || current?.req.complete === true;
  if (!socket.writable || (isEarlier && current?.writableFinished === false)) {
    socket.destroy();
    return;
  }
  endWith(socket, statusResponse(error, 'json'), true);
}

/** Answers with an error: a Kubernetes Status in the encoding of the client. */
export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
): void {
  if (response.headersSent) response.destroy();
  else
    answerAndEnd(request, response, statusResponse(error, statusEncoding(request.headers.accept)));
}

function statusResponse(error: unknown, encoding: Encoding): ErrorResponse {
  const status = statusOf(error);
  const { retryAfterSeconds } = status;
  const body = CODECS[encoding].encodeStatus(status);
  const headers: OutgoingHttpHeaders = {
    'content-type': MEDIA_TYPES[encoding],
    'content-length': body.length,
    'cache-control': 'no-cache, private',
  };
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds);
  return { code: status.code, headers, body };
}

/** A response to a request that is refused. */
export interface ErrorResponse {
  /** HTTP status. */
  readonly code: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer | string;
}

/** Whether the headers of a request announce a body. It may not have arrived yet. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) !== 0 || 'transfer-encoding' in headers;
}

/**
 * Answers a request. If its body has not been read, the connection ends: the next bytes could be that body or another
 * request, and there is no way to tell which (RFC 9112, sections 6.1 and 6.3).
 */
export function answerAndEnd(
  request: IncomingMessage,
  response: ServerResponse,
  answer: ErrorResponse,
): void {
  if (request.complete || !hasBody(request) || request.socket.writableEnded) {
    response.writeHead(answer.code, answer.headers).end(answer.body);
    return;
  }
  response.statusCode = answer.code;
  const all = { ...response.getHeaders(), ...answer.headers };
  endWith(request.socket, { ...answer, headers: all }, request.method !== 'HEAD');
  request.resume();
}

/**
 * Writes a response as the last bytes of a connection. For a second, the bytes that the client still sends are read
 * and dropped. A connection that is closed with unread bytes is reset, and the client could lose the response.
 */
function endWith(socket: Duplex, { code, headers, body }: ErrorResponse, withBody: boolean): void {
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
