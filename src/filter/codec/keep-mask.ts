import type { EndpointsEdit } from './codec.ts';
import { malformed } from './malformed.ts';

/** Walks an edit's `keep` in step with the endpoints of an object. */
export class KeepMask {
  readonly #keep: Uint8Array | undefined;
  #next = 0;

  private constructor(keep: Uint8Array | undefined) {
    this.#keep = keep;
  }

  /** The mask of an edit; one that cuts nothing is as good as none. */
  static of(edit: EndpointsEdit): KeepMask {
    return new KeepMask(edit.keep?.includes(0) === true ? edit.keep : undefined);
  }

  /** Whether any endpoint is to be cut. */
  get cuts(): boolean {
    return this.#keep !== undefined;
  }

  /** Takes the entries of the next `count` endpoints; undefined if all of them stay. */
  take(count: number): Uint8Array | undefined {
    const entries = this.#keep?.subarray(this.#next, this.#next + count);
    this.#next += count;
    return entries?.includes(0) === true ? entries : undefined;
  }

  /** Whether the next endpoint stays. */
  takeOne(): boolean {
    const entry = this.#keep?.[this.#next];
    this.#next += 1;
    return entry !== 0;
  }

  /** Throws when the mask was not made for this object: part of it would pass unfiltered. */
  finish(): void {
    if (this.#keep !== undefined && this.#keep.length !== this.#next) {
      throw malformed(
        `an object of ${this.#next} endpoints for a decision about ${this.#keep.length}`,
        0,
      );
    }
  }
}
