import type { EndpointsEdit } from './codec.ts';
import { malformed } from './malformed.ts';

/** Reads an edit's `keep` in step with the endpoints of an object. */
export class KeepMask {
  readonly #keep: Uint8Array | undefined;
  #next = 0;

  private constructor(keep: Uint8Array | undefined) {
    this.#keep = keep;
  }

  /** The mask of an edit. A `keep` that cuts nothing is treated as absent. */
  static of(edit: EndpointsEdit): KeepMask {
    return new KeepMask(edit.keep?.includes(0) === true ? edit.keep : undefined);
  }

  /** Whether the mask cuts any endpoint. */
  get cuts(): boolean {
    return this.#keep !== undefined;
  }

  /** Reads the entries of the next `count` endpoints; undefined if all of them stay. */
  take(count: number): Uint8Array | undefined {
    const entries = this.#keep?.subarray(this.#next, this.#next + count);
    this.#next += count;
    return entries?.includes(0) === true ? entries : undefined;
  }

  /** Reads the next entry: whether that endpoint stays. */
  takeOne(): boolean {
    const entry = this.#keep?.[this.#next];
    this.#next += 1;
    return entry !== 0;
  }

  /** Throws when the mask was made for another object: some endpoints would pass unfiltered. */
  finish(): void {
    if (this.#keep !== undefined && this.#keep.length !== this.#next) {
      throw malformed(
        `a decision about ${this.#keep.length} endpoints for an object with ${this.#next}`,
        0,
      );
    }
  }
}
