/** Maximum size of a block. The next write waits until a slow client has read it. */
export const BLOCK_BYTES = 256 * 1024;

/**
 * A write of at least this many bytes exceeds the high-water mark (64 KB): it returns false, and 'drain' follows when
 * the socket has accepted it. A smaller write may still be in progress when it returns true.
 */
const BLOCKING_BYTES = 128 * 1024;

/**
 * Copies many buffers into one block after the other: one write per block, not one per object. All blocks use the same
 * memory, so that a body of any size costs one block. Call {@link next} only after a write of the last block has returned
 * true, or after 'drain'.
 */
export class Blocks {
  readonly #groups: Iterator<readonly Buffer[], void>;
  readonly #block: Buffer;
  /** The group that has not been returned yet. */
  #group: IteratorResult<readonly Buffer[], void>;

  /**
   * @param groups buffers; a group is never divided
   * @param bytes of all groups, or more
   */
  constructor(groups: Iterable<readonly Buffer[], void>, bytes: number) {
    this.#groups = groups[Symbol.iterator]();
    this.#block = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, bytes));
    this.#group = this.#groups.next();
  }

  /** Whether all groups have been returned. */
  get done(): boolean {
    return this.#group.done === true;
  }

  /** Returns the next block; empty when it is done. A group that is larger than a block is returned alone. */
  next(): Buffer {
    let used = 0;
    while (!this.#group.done) {
      const group = this.#group.value;
      let bytes = 0;
      for (const { length } of group) bytes += length;
      const fits = bytes <= this.#block.length - used;
      if (!fits && used > 0) break;
      this.#group = this.#groups.next();
      if (!fits) return group.length === 1 ? (group[0] as Buffer) : Buffer.concat(group, bytes);
      for (const buffer of group) {
        this.#block.set(buffer, used);
        used += buffer.length;
      }
    }
    const filled = this.#block.subarray(0, used);
    return used < BLOCKING_BYTES && !this.done ? Buffer.from(filled) : filled;
  }
}
