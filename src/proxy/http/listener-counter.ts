/**
 * Counts what listeners do by one word, such as a status code or the reason of a refusal. Memory is bounded, because
 * both are from closed sets: a client cannot choose them.
 */
export class ListenerCounter {
  readonly #counts = new Map<string, readonly [count: number, listener: string, word: string]>();

  count(listener: string, word: string): void {
    const key = `${listener} ${word}`;
    const [before] = this.#counts.get(key) ?? [0];
    this.#counts.set(key, [before + 1, listener, word]);
  }

  /** The numbers since the start. */
  get counts(): Iterable<readonly [count: number, listener: string, word: string]> {
    return this.#counts.values();
  }
}
