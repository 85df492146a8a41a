/** Counts what happened in the last one to two spans of time. */
export class RecentCount {
  readonly #spanMs: number;
  readonly #now: () => number;
  /** Start of the current span. */
  #since: number;
  #previous = 0;
  #current = 0;

  /** @param now a monotonic clock in milliseconds; default: `performance.now` */
  constructor(spanMs: number, now: () => number = () => performance.now()) {
    this.#spanMs = spanMs;
    this.#now = now;
    this.#since = now();
  }

  /** Adds what happens now. Returns the count with it. */
  add(count: number): number {
    const elapsed = this.#now() - this.#since;
    if (elapsed >= this.#spanMs) {
      this.#previous = elapsed < 2 * this.#spanMs ? this.#current : 0;
      this.#current = 0;
      this.#since += elapsed;
    }
    this.#current += count;
    return this.#previous + this.#current;
  }
}
