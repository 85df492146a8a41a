/** Divides time into spans. The next one begins with the first look after the end of the last. */
export class Spans {
  readonly #ms: number;
  readonly #now: () => number;
  /** Start of the current span. */
  #since: number;

  /** @param now a monotonic clock in milliseconds */
  constructor(ms: number, now: () => number = () => performance.now()) {
    this.#ms = ms;
    this.#now = now;
    this.#since = now();
  }

  /** Which span it is now, compared with the last look. Later: there was no look in a whole span between. */
  look(): 'same' | 'next' | 'later' {
    const elapsed = this.#now() - this.#since;
    if (elapsed < this.#ms) return 'same';
    this.#since += elapsed;
    return elapsed < 2 * this.#ms ? 'next' : 'later';
  }
}
