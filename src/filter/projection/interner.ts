/** Keeps one copy of equal values. */
export class Interner<T> {
  readonly #known = new Map<string, T>();

  of(id: string, make: () => T): T {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    // Values that nothing uses any more may pile up over months; starting again costs little.
    if (this.#known.size >= 50_000) this.#known.clear();
    const made = make();
    this.#known.set(id, made);
    return made;
  }
}
