/**
 * Counts what listeners do by one word, such as a status code or the reason of a refusal. Memory is bounded, because
 * both are from closed sets: a client cannot choose them.
 */
export class ListenerCounter {
  readonly #counts = new Map<string, readonly [count: number, listener: string, word: string]>();

  count(listener: string, word: string): void {
    this.#counts.set(`${listener} ${word}`, [this.countOf(listener, word) + 1, listener, word]);
  }

  /** The number of one word since the start. */
  countOf(listener: string, word: string): number {
    return this.#counts.get(`${listener} ${word}`)?.[0] ?? 0;
  }

  /** The numbers since the start. */
  get counts(): Iterable<readonly [count: number, listener: string, word: string]> {
    return this.#counts.values();
  }
}
