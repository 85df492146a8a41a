import { WrapperError } from '../../errors.ts';

/**
 * Where a reflector says, before it happens, what it takes in memory. Whoever keeps the account throws where there is
 * no room, and then the reflector holds no more.
 */
export interface ReadMemory {
  /** Bytes of the list that is being read, all its pages together; 0: none is any more. */
  reading(bytes: number): void;
  /** What all objects that are known take; see filter/memory-cost.ts. */
  objects(bytes: number): void;
}

/** What the objects of one query may take, as a multiple of maxListBytes: small objects cost more than their bytes. */
const OBJECTS_PER_LIST = 8;

/**
 * The account of what the wrapper itself and kube-proxy need, which no budget of others limits: all lists that are
 * being read at a time hold at most `maxListBytes` together, and the objects of one query a multiple of that.
 *
 * Invariant: the sum of what open accounts say they are reading never exceeds the limit.
 */
export class OwnReadMemory {
  readonly #maxListBytes: number;
  #reading = 0;

  constructor(maxListBytes: number) {
    this.#maxListBytes = maxListBytes;
  }

  /** Bytes of all lists that are being read. */
  get bytes(): number {
    return this.#reading;
  }

  /** An account for one reflector. Throws `TooLarge`, or `LimitExceeded` when other lists are in the way. */
  account(): ReadMemory {
    let own = 0;
    return {
      reading: (bytes) => {
        const others = this.#reading - own;
        if (bytes > own && bytes + others > this.#maxListBytes) throw this.#tooLarge(bytes, others);
        this.#reading = others + bytes;
        own = bytes;
      },
      objects: (bytes) => {
        const most = this.#maxListBytes * OBJECTS_PER_LIST;
        if (bytes <= most) return;
        const problem = `objects that take ${bytes} bytes of memory, more than ${most} (${OBJECTS_PER_LIST} x maxListBytes)`;
        throw new WrapperError('TooLarge', problem);
      },
    };
  }

  #tooLarge(bytes: number, others: number): WrapperError {
    const most = this.#maxListBytes;
    if (bytes > most) {
      return new WrapperError('TooLarge', `a list of more than ${most} bytes (maxListBytes)`);
    }
    const problem = `lists that are being read together hold more than ${most} bytes (maxListBytes), ${others} of them other lists: this one is asked for again`;
    return new WrapperError('LimitExceeded', problem);
  }
}
