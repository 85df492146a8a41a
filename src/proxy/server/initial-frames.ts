import type { ObjectBytes } from '../../filter/codec/codec.ts';
import type { View } from '../../filter/view/view.ts';

/** Bytes written at once; a client that is slower than this is waited for. */
const BLOCK_BYTES = 256 * 1024;

/**
 * A write of at least this many bytes is more than a high-water mark (64 KB), so that it returns false, and
 * 'drain' comes when the socket has taken it. A smaller one may be under way when it returns true.
 */
const BLOCKING_BYTES = 128 * 1024;

/**
 * The initial events of a watch, a batch of frames at a time. The bytes of a large batch are overwritten by the
 * next call: make it only when a write of them has returned true, or after 'drain'.
 */
export class InitialFrames {
  readonly #view: View;
  readonly #items: readonly ObjectBytes[];
  readonly #block: Buffer;
  #index = 0;

  constructor(view: View, items: readonly ObjectBytes[]) {
    this.#view = view;
    this.#items = items;
    // Frames add less than 256 bytes to an object each.
    const bytes = items.reduce((sum, { length }) => sum + length + 256, 0);
    this.#block = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, bytes));
  }

  /** Whether all have been given out. */
  get done(): boolean {
    return this.#index === this.#items.length;
  }

  /** The next frames; nothing once it is done. */
  next(): Buffer {
    const { codec, resource } = this.#view;
    let used = 0;
    while (this.#index < this.#items.length) {
      const object = this.#items[this.#index] as ObjectBytes;
      const buffers = codec.encodeEventBuffers(resource, 'ADDED', object);
      let bytes = 0;
      for (const { length } of buffers) bytes += length;
      if (bytes > this.#block.length - used) {
        if (used > 0) break;
        this.#index++;
        return Buffer.concat(buffers);
      }
      for (const piece of buffers) {
        this.#block.set(piece, used);
        used += piece.length;
      }
      this.#index++;
    }
    const filled = this.#block.subarray(0, used);
    return used < BLOCKING_BYTES && !this.done ? Buffer.from(filled) : filled;
  }
}
