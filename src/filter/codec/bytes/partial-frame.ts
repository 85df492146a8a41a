/** The chunks received of a frame that is not complete yet. */
export class PartialFrame {
  #chunks: Buffer[] = [];
  #length = 0;

  /** Number of bytes received. */
  get length(): number {
    return this.#length;
  }

  add(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  /** Returns the frame that ends with `last`, and begins the next one. A frame within one chunk is not copied. */
  complete(last: Buffer): Buffer {
    if (this.#length === 0) return last;
    const frame = Buffer.concat([...this.#chunks, last], this.#length + last.length);
    this.#chunks = [];
    this.#length = 0;
    return frame;
  }
}
