import { WrapperError } from '../../errors.ts';

/**
 * Accounts for the memory of a reflector. The reflector reports its use before it allocates. If there is no room, the
 * account throws, and the reflector allocates nothing.
 */
export interface ReadMemory {
  /** Reports the bytes of the list that is being read, all pages together; 0 when it was read. */
  reading(bytes: number): void;
  /** Reports the memory of all objects; see filter/objects/memory-cost.ts. */
  objects(bytes: number): void;
}

/** Memory limit for the objects of one query in units of maxListBytes. Small objects cost more than their bytes. */
const OBJECTS_PER_LIST = 8;

/**
 * The account for what the wrapper itself and kube-proxy need; the budget of other callers does not limit it. All lists
 * that are being read have at most `maxListBytes` together. The objects of one query take at most a multiple of that.
 *
 * Invariant: the sum of the bytes that accounts report as being read never exceeds the limit.
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

  /** An account for one reflector. Throws `TooLarge`, or `LimitExceeded` if other lists take the room. */
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
        const message = `objects that take ${bytes} bytes of memory, more than ${most} (${OBJECTS_PER_LIST} x maxListBytes)`;
        throw new WrapperError('TooLarge', message);
      },
    };
  }

  #tooLarge(bytes: number, others: number): WrapperError {
    const most = this.#maxListBytes;
    if (bytes > most) {
      return new WrapperError('TooLarge', `a list of more than ${most} bytes (maxListBytes)`);
    }
    const message = `this list and ${others} bytes of other lists that are being read exceed ${most} bytes together (maxListBytes): this list is requested again`;
    return new WrapperError('LimitExceeded', message);
  }
}
