/** Small pieces are gathered into blocks of this size: one write per block, not one per object. */
const BLOCK_BYTES = 64 * 1024;

/** Gathers a long body into few buffers. Large pieces are passed on without a copy. */
export class Pieces {
  readonly #done: Buffer[] = [];
  #block = Buffer.alloc(0);
  #used = 0;

  add(bytes: Uint8Array): void {
    if (bytes.length > this.#block.length - this.#used) this.#flush();
    if (bytes.length >= BLOCK_BYTES) {
      this.#done.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      return;
    }
    if (this.#block.length === 0) this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#block.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  /** Returns all that was added, in order. */
  finish(): Buffer[] {
    this.#flush();
    return this.#done;
  }

  #flush(): void {
    if (this.#used > 0) this.#done.push(this.#block.subarray(0, this.#used));
    this.#block = Buffer.alloc(0);
    this.#used = 0;
  }
}
