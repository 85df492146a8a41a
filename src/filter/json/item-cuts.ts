import type { Patch } from '../patch.ts';

/**
 * Cuts members from an object or elements from an array together with the commas that they leave. To be
 * told of every item in order, and then closed.
 */
export class ItemCuts {
  readonly #patch: Patch;
  /** The items in a row that are to go; -1 when the last item stays. */
  #runStart = -1;
  #runEnd = -1;
  /** End of the last item that stays; -1 while there is none. */
  #keptEnd = -1;

  constructor(patch: Patch) {
    this.#patch = patch;
  }

  item(start: number, end: number, stays: boolean): void {
    if (!stays) {
      if (this.#runStart < 0) this.#runStart = start;
      this.#runEnd = end;
      return;
    }
    if (this.#runStart >= 0) this.#patch.cut(this.#runStart, start);
    this.#runStart = -1;
    this.#keptEnd = end;
  }

  /** Cuts what is left to cut: the last items go with the comma before them, for none follows. */
  close(): void {
    if (this.#runStart < 0) return;
    this.#patch.cut(this.#keptEnd < 0 ? this.#runStart : this.#keptEnd, this.#runEnd);
  }
}
