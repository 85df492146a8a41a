import type { WriteTimeout } from './write-timeout.ts';

/** A client that reads nothing of its response keeps a block of this size; over TLS, another one that is encrypted. */
export const WRITE_BLOCK_BYTES = 32 * 1024;
/** The same while there is room: with fewer writes, many events are sent in two thirds of the time. */
export const LARGE_BLOCK_BYTES = 256 * 1024;
/** So many of a listener's responses have a large block at the same time: 4 MB. */
const MAX_LARGE = 16;

/** Bounds the large blocks of all responses of a listener. */
export class LargeBlocks {
  #free = MAX_LARGE;

  /** Takes one. Returns how to give it back, which has no effect twice; undefined: none is free. */
  take(): (() => void) | undefined {
    if (this.#free === 0) return undefined;
    this.#free--;
    let isTaken = true;
    return () => {
      if (isTaken) this.#free++;
      isTaken = false;
    };
  }
}

/** What a response may take. */
export interface WriteLimits extends WriteTimeout {
  /** Default: all blocks are small. */
  readonly largeBlocks?: Pick<LargeBlocks, 'take'> | undefined;
}
