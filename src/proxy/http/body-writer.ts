import type { ServerResponse } from 'node:http';
import { giveUpLater, type WriteTimeout } from './write-timeout.ts';

/** Pieces are copied into a block of at most this size: one write per block, not one per object. */
const BLOCK_BYTES = 256 * 1024;

/**
 * Writes a body that comes in many pieces, and ends the response.
 *
 * The pieces are copied into a block, again when the socket has taken it: the client reads while we copy, and
 * a list of any size costs one block. The pieces themselves must not change meanwhile; they are held until the
 * client has taken them, or is given up.
 *
 * @param bytes sum of the pieces' sizes
 */
export function writeBody(
  response: ServerResponse,
  buffers: readonly Buffer[],
  bytes: number,
  patience: WriteTimeout,
): void {
  new BodyWriter(response, buffers, bytes, patience).start();
}

class BodyWriter {
  readonly #response: ServerResponse;
  readonly #buffers: readonly Buffer[];
  readonly #block: Buffer;
  readonly #patience: WriteTimeout;
  /** Runs while the client is to take what was written last. */
  #stall: NodeJS.Timeout | undefined;
  /** The piece that comes next, and how much of it has been copied already. */
  #index = 0;
  #offset = 0;

  constructor(
    response: ServerResponse,
    buffers: readonly Buffer[],
    bytes: number,
    patience: WriteTimeout,
  ) {
    this.#response = response;
    this.#buffers = buffers;
    this.#patience = patience;
    this.#block = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, bytes));
  }

  start(): void {
    this.#response.once('close', () => clearTimeout(this.#stall));
    this.#writeNext();
  }

  #writeNext(): void {
    clearTimeout(this.#stall);
    this.#stall = giveUpLater(this.#response, this.#patience);
    const used = this.#fill();
    const filled = this.#block.subarray(0, used);
    if (this.#index === this.#buffers.length) {
      this.#response.end(filled);
      return;
    }
    // Only now may the block be used again: a write that returns true may still be under way.
    this.#response.write(filled, (error) => {
      if (error == null && !this.#response.destroyed) this.#writeNext();
    });
  }

  /** Copies as much as fits; returns how much that is. */
  #fill(): number {
    const block = this.#block;
    let used = 0;
    while (this.#index < this.#buffers.length) {
      const piece = this.#buffers[this.#index] as Buffer;
      const left = piece.length - this.#offset;
      const room = block.length - used;
      if (left > room) {
        block.set(piece.subarray(this.#offset, this.#offset + room), used);
        this.#offset += room;
        return block.length;
      }
      block.set(this.#offset === 0 ? piece : piece.subarray(this.#offset), used);
      used += left;
      this.#offset = 0;
      this.#index++;
    }
    return used;
  }
}
