import type { ServerResponse } from 'node:http';
import { startWriteTimeout, type WriteTimeout } from './write-timeout.ts';

/** Buffers are copied into a block of at most this size: one write per block, not one per object. */
const WRITE_BLOCK_BYTES = 256 * 1024;

export interface BlocksOptions extends WriteTimeout {
  /** They must not change until the response has closed. */
  readonly buffers: Iterable<Buffer>;
  /** The sum of their sizes, or more. */
  readonly bytes: number;
  /** Called when all is written; absent: the response ends with the last block. */
  readonly onWritten?: () => void;
}

/**
 * Writes many buffers to a response, in one block that is filled again after each write. So the client reads while the
 * next part is copied, and a list of any size costs one block.
 */
export function writeBlocks(response: ServerResponse, options: BlocksOptions): void {
  new BlockWriter(response, options).start();
}

class BlockWriter {
  readonly #response: ServerResponse;
  readonly #options: BlocksOptions;
  readonly #buffers: Iterator<Buffer>;
  readonly #block: Buffer;
  /** Runs until the client has read the last write. */
  #timer: NodeJS.Timeout | undefined;
  /** The buffer to be copied next, and how much of it is copied already; undefined: all are copied. */
  #next: Buffer | undefined;
  #offset = 0;

  constructor(response: ServerResponse, options: BlocksOptions) {
    this.#response = response;
    this.#options = options;
    this.#buffers = options.buffers[Symbol.iterator]();
    this.#next = this.#buffers.next().value;
    this.#block = Buffer.allocUnsafeSlow(Math.min(WRITE_BLOCK_BYTES, options.bytes));
  }

  start(): void {
    this.#response.once('close', this.#stop);
    this.#writeNext();
  }

  #writeNext(): void {
    this.#timer = startWriteTimeout(this.#response, this.#options);
    const filled = this.#block.subarray(0, this.#fill());
    if (this.#next === undefined && this.#options.onWritten === undefined) {
      this.#response.end(filled);
      return;
    }
    // The block is free only in this callback: a write that returns true may still be in progress.
    this.#response.write(filled, (error) => {
      clearTimeout(this.#timer);
      if (error != null || this.#response.destroyed || this.#response.writableEnded) return;
      if (this.#next !== undefined) this.#writeNext();
      else this.#finish();
    });
  }

  /** Copies as much as fits; returns the number of bytes. */
  #fill(): number {
    let used = 0;
    while (this.#next !== undefined) {
      const copied = this.#next.copy(this.#block, used, this.#offset);
      used += copied;
      this.#offset += copied;
      if (this.#offset < this.#next.length) break;
      this.#next = this.#buffers.next().value;
      this.#offset = 0;
    }
    return used;
  }

  /** The response goes on, so nothing of this may stay with it. */
  #finish(): void {
    this.#response.off('close', this.#stop);
    this.#options.onWritten?.();
  }

  readonly #stop = (): void => clearTimeout(this.#timer);
}
