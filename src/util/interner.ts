/** The most that the ids of one interner take, in characters. Values take a few times as much as their ids. */
const MAX_CHARACTERS = 256 * 1024;
/** What an entry costs besides its id, in characters. */
const ENTRY_CHARACTERS = 64;
/** An id with a larger part of all characters than this is not kept: it is rarely used twice. */
const MAX_PART = 1 / 8;

/**
 * Keeps one copy of equal values, in bounded memory whatever they are: when their ids take too much, it starts again,
 * which costs little. Later copies are then equal to earlier ones, but not the same.
 */
export class Interner<T> {
  readonly #known = new Map<string, T>();
  #characters = 0;

  intern(id: string, make: () => T): T {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const made = make();
    const cost = id.length + ENTRY_CHARACTERS;
    if (cost > MAX_PART * MAX_CHARACTERS) return made;
    this.#characters += cost;
    if (this.#characters > MAX_CHARACTERS) {
      this.#known.clear();
      this.#characters = cost;
    }
    this.#known.set(id, made);
    return made;
  }
}
