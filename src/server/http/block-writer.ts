import type { ServerResponse } from 'node:http';
import { LARGE_BLOCK_BYTES, WRITE_BLOCK_BYTES, type WriteLimits } from './large-blocks.ts';
import { startWriteTimeout } from './write-timeout.ts';

/** The bytes that a client must read in a millisecond, once the write timeout has passed: 512 kbit/s. */
const MIN_RATE = 64;

export interface BlocksOptions extends WriteLimits {
  /** They must not change until the response has closed. */
  readonly buffers: Iterable<Buffer>;
  /** The sum of their sizes, or more. */
  readonly bytes: number;
  /** Called when all is written; default: the response ends. */
  readonly onWritten?: () => void;
}

/**
 * Writes many buffers to a response, in one block that is filled again after each write: one write per block, not one
 * per object. So the client reads while the next part is copied, and a list of any size costs one block. A client that
 * reads slower than 512 kbit/s is disconnected after the write timeout: it would keep the state from which the body is
 * written.
 */
export function writeBlocks(response: ServerResponse, options: BlocksOptions): void {
  const { buffers, bytes, writeTimeoutMs, onWritten = () => response.end() } = options;
  const giveBack = bytes > WRITE_BLOCK_BYTES ? options.largeBlocks?.take() : undefined;
  const most = giveBack === undefined ? WRITE_BLOCK_BYTES : LARGE_BLOCK_BYTES;
  const blocks = filled(Buffer.allocUnsafeSlow(Math.min(most, bytes)), buffers, most / 2);
  const start = performance.now();
  let written = 0;
  /** Runs until the client has read the last write. */
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => {
    clearTimeout(timer);
    giveBack?.();
  };
  const writeNext = (): void => {
    const { value, done } = blocks.next();
    if (done) {
      // The response may go on, so nothing of this may stay with it.
      response.off('close', stop);
      stop();
      onWritten();
      return;
    }
    const lateMs = Math.max(0, performance.now() - start - written / MIN_RATE);
    timer = startWriteTimeout(response, { ...options, writeTimeoutMs: writeTimeoutMs - lateMs });
    written += value.length;
    // The block is free only in this callback: a write that returns true may still be in progress.
    response.write(value, (error) => {
      clearTimeout(timer);
      if (error == null && !response.destroyed && !response.writableEnded) writeNext();
    });
  };
  response.once('close', stop);
  writeNext();
}

/**
 * Copies the buffers to a block, again and again; yields the part that is filled. Parts of a buffer of at least `large`
 * bytes, such as a page of a list, are yielded as they are: clients that do not read share it.
 */
function* filled(block: Buffer, buffers: Iterable<Buffer>, large: number): Generator<Buffer, void> {
  let used = 0;
  for (const buffer of buffers) {
    for (let offset = 0; offset < buffer.length; ) {
      if (buffer.length - offset >= large) {
        if (used > 0) yield block.subarray(0, used);
        used = 0;
        const part = buffer.subarray(offset, offset + block.length);
        yield part;
        offset += part.length;
        continue;
      }
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
