import type { ServerResponse } from 'node:http';
import { startWriteTimeout, type WriteTimeout } from './write-timeout.ts';

/** Buffers are copied into a block of at most this size: one write per block, not one per object. */
const WRITE_BLOCK_BYTES = 256 * 1024;

export interface BlocksOptions extends WriteTimeout {
  /** They must not change until the response has closed. */
  readonly buffers: Iterable<Buffer>;
  /** The sum of their sizes, or more. */
  readonly bytes: number;
  /** Called when all is written; default: the response ends. */
  readonly onWritten?: () => void;
}

/**
 * Writes many buffers to a response, in one block that is filled again after each write. So the client reads while the
 * next part is copied, and a list of any size costs one block.
 */
export function writeBlocks(response: ServerResponse, options: BlocksOptions): void {
  const { buffers, bytes, onWritten = () => response.end() } = options;
  const block = Buffer.allocUnsafeSlow(Math.min(WRITE_BLOCK_BYTES, bytes));
  const blocks = filled(block, buffers);
  /** Runs until the client has read the last write. */
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => clearTimeout(timer);
  const writeNext = (): void => {
    const { value, done } = blocks.next();
    if (done) {
      // The response may go on, so nothing of this may stay with it.
      response.off('close', stop);
      onWritten();
      return;
    }
    timer = startWriteTimeout(response, options);
    // The block is free only in this callback: a write that returns true may still be in progress.
    response.write(value, (error) => {
      stop();
      if (error == null && !response.destroyed && !response.writableEnded) writeNext();
    });
  };
  response.once('close', stop);
  writeNext();
}

/** Copies the buffers to a block, again and again; yields the part that is filled. */
function* filled(block: Buffer, buffers: Iterable<Buffer>): Generator<Buffer, void> {
  let used = 0;
  for (const buffer of buffers) {
    for (let offset = 0; offset < buffer.length; ) {
      const copied = buffer.copy(block, used, offset);
      offset += copied;
      used += copied;
      if (used < block.length) continue;
      yield block;
      used = 0;
    }
  }
  if (used > 0) yield block.subarray(0, used);
}
