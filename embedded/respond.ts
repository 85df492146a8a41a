import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { contentType, statusEncoding } from './accept.ts';
import type { KubeStatus } from './kube-status.ts';
import { encodeStatus } from './wire.ts';

/** One request being answered. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly query: URLSearchParams;
}

/** A body above this size is compressed for those who ask (apiserver responsewriters/writers.go). */
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
  // Level 1, as the API server: it is for speed, not for size.
  const bytes = gzip ? gzipSync(body, { level: 1 }) : body;
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}

/** Sends a Status in the encoding that the client asked for. */
export function respondStatus(exchange: Exchange, code: number, status: KubeStatus): void {
  const encoding = statusEncoding(exchange.request.headers.accept);
  const retryAfter = status.details?.retryAfterSeconds ?? 0;
  if (retryAfter > 0) exchange.response.setHeader('Retry-After', String(retryAfter));
  respond(exchange, code, contentType(encoding, 'object'), encodeStatus(status, encoding));
}
