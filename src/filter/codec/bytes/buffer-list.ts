import { allocateOwned } from './owned-copy.ts';

/** Joins buffers; a single buffer is returned without a copy. */
export function concat(buffers: readonly Buffer[]): Buffer {
  const [only] = buffers;
  return buffers.length === 1 && only !== undefined ? only : Buffer.concat(buffers);
}

/** Reads the chunks of a body as if they were one buffer. Joining a body of 16 MB would take 16 MB more. */
export class BufferList {
  /** Total length in bytes. */
  readonly length: number;
  readonly buffers: readonly Buffer[];
  /** Offset of each buffer in the body. */
  readonly #starts: readonly number[];
  /** Index of the buffer that was read last. Most reads continue there. */
  #current = 0;

  constructor(buffers: readonly Buffer[]) {
    const starts: number[] = [];
    let length = 0;
    for (const buffer of buffers) {
      starts.push(length);
      length += buffer.length;
    }
    this.buffers = buffers;
    this.#starts = starts;
    this.length = length;
  }

  /** The bytes in `[start, end)`, which must exist. They are copied only if they span several buffers. */
  slice(start: number, end: number): Buffer {
    if (start >= end) return Buffer.alloc(0);
    this.#seek(start);
    const from = start - (this.#starts[this.#current] as number);
    const buffer = this.buffers[this.#current] as Buffer;
    if (from + end - start <= buffer.length) return buffer.subarray(from, from + end - start);
    return this.#join(start, end);
  }

  #join(start: number, end: number): Buffer {
    const joined = allocateOwned(end - start);
    let index = this.#current;
    let from = start - (this.#starts[index] as number);
    for (let written = 0; written < joined.length; index++) {
      written += (this.buffers[index] as Buffer).copy(joined, written, from);
      from = 0;
    }
    return joined;
  }

  #seek(offset: number): void {
    while (offset < (this.#starts[this.#current] as number)) this.#current--;
    while (offset >= (this.#starts[this.#current + 1] ?? this.length)) this.#current++;
  }
}
