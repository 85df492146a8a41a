import type { ObjectBytes } from '../../filter/codec/codec.ts';
import type { View } from '../../filter/view/view.ts';

/** Maximum number of bytes of one write. The next write waits until a slow client has read them. */
const BLOCK_BYTES = 256 * 1024;

/**
 * A write of at least this many bytes exceeds the high-water mark (64 KB): it returns false, and 'drain' follows when
 * the socket has accepted it. A smaller write may still be in progress when it returns true.
 */
const BLOCKING_BYTES = 128 * 1024;

/**
 * The initial events of a watch, one batch of frames at a time. The next call overwrites the bytes of a large batch:
 * call only after a write of them has returned true, or after 'drain'.
 */
export class InitialFrames {
  readonly #view: View;
  readonly #items: readonly ObjectBytes[];
  readonly #block: Buffer;
  #index = 0;

  constructor(view: View, items: readonly ObjectBytes[]) {
    this.#view = view;
    this.#items = items;
    // A frame adds less than 256 bytes to its object.
    const bytes = items.reduce((sum, { length }) => sum + length + 256, 0);
    this.#block = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, bytes));
  }

  /** Whether all events have been returned. */
  get done(): boolean {
    return this.#index === this.#items.length;
  }

  /** Returns the next frames; empty when it is done. */
  next(): Buffer {
    const { codec, resource } = this.#view;
    let used = 0;
    while (this.#index < this.#items.length) {
      const object = this.#items[this.#index] as ObjectBytes;
      const buffers = codec.encodeEvent(resource, 'ADDED', object);
      let bytes = 0;
      for (const { length } of buffers) bytes += length;
      if (bytes > this.#block.length - used) {
        if (used > 0) break;
        this.#index++;
        return Buffer.concat(buffers);
      }
      for (const buffer of buffers) {
        this.#block.set(buffer, used);
        used += buffer.length;
      }
      this.#index++;
    }
    const filled = this.#block.subarray(0, used);
    return used < BLOCKING_BYTES && !this.done ? Buffer.from(filled) : filled;
  }
}
