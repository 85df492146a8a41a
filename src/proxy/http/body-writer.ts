import type { ServerResponse } from 'node:http';
import { startWriteTimeout, type WriteTimeout } from './write-timeout.ts';

/** Buffers are copied into a block of at most this size: one write per block, not one per object. */
const BLOCK_BYTES = 256 * 1024;

/**
 * Writes a body that consists of many buffers, and ends the response.
 *
 * The buffers are copied into one block, which is filled again after each write. So the client reads while the next
 * part is copied, and a list of any size costs one block. The buffers must not change until the response has closed.
 *
 * @param bytes sum of the sizes of the buffers
 */
export function writeBody(
  response: ServerResponse,
  buffers: readonly Buffer[],
  bytes: number,
  timeout: WriteTimeout,
): void {
  new BodyWriter(response, buffers, bytes, timeout).start();
}

class BodyWriter {
  readonly #response: ServerResponse;
  readonly #buffers: readonly Buffer[];
  readonly #block: Buffer;
  readonly #timeout: WriteTimeout;
  /** Runs until the client has read the last write. */
  #timer: NodeJS.Timeout | undefined;
  /** The next buffer, and how much of it is copied already. */
  #index = 0;
  #offset = 0;

  constructor(
    response: ServerResponse,
    buffers: readonly Buffer[],
    bytes: number,
    timeout: WriteTimeout,
  ) {
    this.#response = response;
    this.#buffers = buffers;
    this.#timeout = timeout;
    this.#block = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, bytes));
  }

  start(): void {
    this.#response.once('close', () => clearTimeout(this.#timer));
    this.#writeNext();
  }

  #writeNext(): void {
    clearTimeout(this.#timer);
    this.#timer = startWriteTimeout(this.#response, this.#timeout);
    const used = this.#fill();
    const filled = this.#block.subarray(0, used);
    if (this.#index === this.#buffers.length) {
      this.#response.end(filled);
      return;
    }
    // The block is free only in this callback: a write that returns true may still be in progress.
    this.#response.write(filled, (error) => {
      if (error == null && !this.#response.destroyed) this.#writeNext();
    });
  }

  /** Copies as much as fits; returns the number of bytes. */
  #fill(): number {
    const block = this.#block;
    let used = 0;
    while (this.#index < this.#buffers.length) {
      const buffer = this.#buffers[this.#index] as Buffer;
      const left = buffer.length - this.#offset;
      const room = block.length - used;
      if (left > room) {
        block.set(buffer.subarray(this.#offset, this.#offset + room), used);
        this.#offset += room;
        return block.length;
      }
      block.set(this.#offset === 0 ? buffer : buffer.subarray(this.#offset), used);
      used += left;
      this.#offset = 0;
      this.#index++;
    }
    return used;
  }
}
