import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Codec, Encoding } from '../../filter/codec/codec.ts';
import { MEDIA_TYPES, statusEncoding } from '../api/media-type.ts';
import { statusOf } from '../api/status.ts';
import { writeBody } from './body-writer.ts';
import { refuseRequest } from './http-errors.ts';
import type { Patience } from './write-timeout.ts';

/** Codecs by encoding. */
export type Codecs = Readonly<Record<Encoding, Codec>>;

/** Answers with a whole body, given in pieces. */
export function answerBody(
  response: ServerResponse,
  encoding: Encoding,
  pieces: readonly Buffer[],
  patience: Patience,
): void {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  response.writeHead(200, {
    'content-type': MEDIA_TYPES[encoding],
    'content-length': length,
    'cache-control': 'no-cache, private',
  });
  writeBody(response, pieces, length, patience);
}

/** Answers with an error, as a Kubernetes Status in the caller's encoding. */
export function answerError(
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
