import type { ServerResponse } from 'node:http';
import { MEDIA_TYPES } from '../../client/api/media-type.ts';
import type { Encoding } from '../../filter/codec/codec.ts';
import type { Body } from '../../filter/view/view-state.ts';
import { writeBlocks } from './block-writer.ts';
import type { WriteLimits } from './large-blocks.ts';

/** Answers with a whole body, which consists of many buffers. */
export function sendBody(
  response: ServerResponse,
  encoding: Encoding,
  { buffers, bytes }: Body,
  limits: WriteLimits,
): void {
  response.writeHead(200, {
    'content-type': MEDIA_TYPES[encoding],
    'content-length': bytes,
    'cache-control': 'no-cache, private',
  });
  writeBlocks(response, { ...limits, buffers, bytes });
}

/** Answers with a small document in JSON. */
export function sendDocument(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': body.length,
    'cache-control': 'no-cache, private',
    vary: 'Accept',
  });
  response.end(body);
}
