import { allocateOwned } from '../bytes/owned-copy.ts';

interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly bytes: Uint8Array | undefined;
}

/**
 * Byte ranges of a buffer to replace or cut. Everything between them is copied verbatim. Ranges must not overlap, but
 * may be added in any order.
 */
export class Patch {
  readonly #replacements: Replacement[] = [];
  #sorted = true;
  #last = 0;
  /** How many bytes longer the result is than the source; negative when it is shorter. */
  delta = 0;

  /** Replaces `[start, end)` by `bytes`; an empty range inserts. */
  replace(start: number, end: number, bytes: Uint8Array): void {
    this.#add(start, end, bytes);
    this.delta += bytes.length - (end - start);
  }

  /** Removes `[start, end)`. */
  cut(start: number, end: number): void {
    this.#add(start, end, undefined);
    this.delta -= end - start;
  }

  /**
   * Returns a new buffer: the bytes of `source` in `[start, end)` with the replacements made, all of which lie within.
   * The result may live long.
   */
  apply(source: Buffer, start = 0, end = source.length): Buffer {
    return this.#write(allocateOwned(end - start + this.delta), source, start, end);
  }

  /**
   * The whole of `source` with the replacements made; `source` itself if there are none. A transient result does not
   * share memory with long-lived objects.
   */
  finish(source: Buffer, transient: boolean): Buffer {
    if (this.#replacements.length === 0) return source;
    if (!transient) return this.apply(source);
    const target = Buffer.allocUnsafe(source.length + this.delta);
    return this.#write(target, source, 0, source.length);
  }

  #write(target: Buffer, source: Buffer, from: number, to: number): Buffer {
    if (!this.#sorted) this.#replacements.sort((a, b) => a.start - b.start);
    let read = from;
    let written = 0;
    for (const { start, end, bytes } of this.#replacements) {
      written += source.copy(target, written, read, start);
      if (bytes !== undefined) {
        target.set(bytes, written);
        written += bytes.length;
      }
      // An insertion at the start of a cut may be sorted after the cut.
      if (end > read) read = end;
    }
    source.copy(target, written, read, to);
    return target;
  }

  #add(start: number, end: number, bytes: Uint8Array | undefined): void {
    if (start < this.#last) this.#sorted = false;
    this.#last = start;
    this.#replacements.push({ start, end, bytes });
  }
}
