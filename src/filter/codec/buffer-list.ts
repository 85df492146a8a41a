import { allocateOwned } from './owned-copy.ts';

/** One buffer of all pieces; of a single piece that itself. */
export function concat(buffers: readonly Buffer[]): Buffer {
  const [only] = buffers;
  return buffers.length === 1 && only !== undefined ? only : Buffer.concat(buffers);
}

/** A body in the pieces in which it came, read as if it were one buffer: joining 16 MB takes 16 MB more. */
export class BufferList {
  /** Bytes of all pieces together. */
  readonly length: number;
  readonly #buffers: readonly Buffer[];
  /** Offset of each piece in the whole. */
  readonly #starts: readonly number[];
  /** The piece that was read last: mostly the next one to be read. */
  #current = 0;

  constructor(buffers: readonly Buffer[]) {
    const starts: number[] = [];
    let length = 0;
    for (const piece of buffers) {
      starts.push(length);
      length += piece.length;
    }
    this.#buffers = buffers;
    this.#starts = starts;
    this.length = length;
  }

  /** The bytes in `[start, end)`, which must exist. They share the memory of their piece, unless they lie in several. */
  slice(start: number, end: number): Buffer {
    if (start >= end) return Buffer.alloc(0);
    this.#seek(start);
    const from = start - (this.#starts[this.#current] as number);
    const piece = this.#buffers[this.#current] as Buffer;
    if (from + end - start <= piece.length) return piece.subarray(from, from + end - start);
    return this.#join(start, end);
  }

  #join(start: number, end: number): Buffer {
    const joined = allocateOwned(end - start);
    let index = this.#current;
    let from = start - (this.#starts[index] as number);
    for (let written = 0; written < joined.length; index++) {
      written += (this.#buffers[index] as Buffer).copy(joined, written, from);
      from = 0;
    }
    return joined;
  }

  #seek(offset: number): void {
    while (offset < (this.#starts[this.#current] as number)) this.#current--;
    while (offset >= (this.#starts[this.#current + 1] ?? this.length)) this.#current++;
  }
}
