import type { ServerResponse } from 'node:http';
import { BLOCK_BYTES, Blocks } from './blocks.ts';
import { startWriteTimeout, type WriteTimeout } from './write-timeout.ts';

/**
 * Writes a body that consists of many buffers, block by block, and ends the response. The client reads while the next
 * block is copied. The buffers must not change until the response has closed.
 *
 * @param bytes sum of the sizes of the buffers
 */
export function writeBody(
  response: ServerResponse,
  buffers: readonly Buffer[],
  bytes: number,
  timeout: WriteTimeout,
): void {
  const blocks = new Blocks(inParts(buffers), bytes);
  let timer: NodeJS.Timeout | undefined;
  const write = (): void => {
    clearTimeout(timer);
    timer = startWriteTimeout(response, timeout);
    let hasRoom = true;
    while (hasRoom && !blocks.done) {
      const block = blocks.next();
      if (blocks.done) response.end(block);
      else hasRoom = response.write(block);
    }
  };
  response.on('drain', write);
  response.once('close', () => clearTimeout(timer));
  if (blocks.done) response.end();
  else write();
}

/** The buffers in parts that fit into a block: a slow client has time for each of them. */
function* inParts(buffers: readonly Buffer[]): Generator<[Buffer], void> {
  for (const buffer of buffers) {
    for (let at = 0; at < buffer.length; at += BLOCK_BYTES) {
      yield [buffer.subarray(at, at + BLOCK_BYTES)];
    }
  }
}
