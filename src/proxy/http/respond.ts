import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Codecs, Encoding } from '../../filter/codec/codec.ts';
import { MEDIA_TYPES, statusEncoding } from '../api/media-type.ts';
import { statusOf } from '../api/status.ts';
import { writeBody } from './body-writer.ts';
import { refuseRequest } from './http-errors.ts';
import type { WriteTimeout } from './write-timeout.ts';

/** Answers with a whole body, which consists of many buffers. */
export function sendBody(
  response: ServerResponse,
  encoding: Encoding,
  buffers: readonly Buffer[],
  timeout: WriteTimeout,
): void {
  const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0);
  response.writeHead(200, {
    'content-type': MEDIA_TYPES[encoding],
    'content-length': length,
    'cache-control': 'no-cache, private',
  });
  writeBody(response, buffers, length, timeout);
}

/** Answers with a small document. */
export function sendDocument(
  response: ServerResponse,
  { contentType, body }: { readonly contentType: string; readonly body: Buffer },
): void {
  response.writeHead(200, {
    'content-type': contentType,
    'content-length': body.length,
    'cache-control': 'no-cache, private',
    vary: 'Accept',
  });
  response.end(body);
}

/** Answers with an error: a Kubernetes Status in the encoding of the client. */
export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  codecs: Codecs,
  error: unknown,
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const status = statusOf(error);
  const encoding = statusEncoding(request.headers.accept);
  const body = codecs[encoding].encodeStatus(status);
  const headers = {
    'content-type': MEDIA_TYPES[encoding],
    'content-length': body.length,
    'cache-control': 'no-cache, private',
    ...(status.retryAfterSeconds === undefined
      ? {}
      : { 'retry-after': String(status.retryAfterSeconds) }),
  };
  refuseRequest(request, response, { code: status.code, headers, body });
}
