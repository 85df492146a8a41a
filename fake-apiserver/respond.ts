import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { KubeStatus } from './kube-status.ts';
import { contentType, statusEncoding } from './negotiate.ts';
import { encodeStatus } from './wire.ts';

/** A request and its response. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly query: URLSearchParams;
}

/** A body above this size is compressed if the client accepts it (apiserver responsewriters/writers.go). */
const GZIP_THRESHOLD_BYTES = 128 * 1024;

/** Sends a whole body. */
export function respond(exchange: Exchange, code: number, type: string, body: Buffer): void {
  const { request, response } = exchange;
  response.statusCode = code;
  response.setHeader('Content-Type', type);
  response.setHeader('Cache-Control', 'no-cache, private');
  const gzip =
    request.method === 'GET' &&
    body.length > GZIP_THRESHOLD_BYTES &&
    /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  if (gzip) {
    response.setHeader('Content-Encoding', 'gzip');
    response.setHeader('Vary', 'Accept-Encoding');
  }
  // Level 1 for speed, as in the API server.
  const bytes = gzip ? gzipSync(body, { level: 1 }) : body;
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}

/** Sends a Status in the encoding that the client accepts. */
export function respondStatus(exchange: Exchange, code: number, status: KubeStatus): void {
  const encoding = statusEncoding(exchange.request.headers.accept);
  const retryAfter = status.details?.retryAfterSeconds ?? 0;
  if (retryAfter > 0) exchange.response.setHeader('Retry-After', String(retryAfter));
  respond(exchange, code, contentType(encoding, 'object'), encodeStatus(status, encoding));
}
