import { Spans } from './spans.ts';

/** Counts what happened in the last one to two spans of time. */
export class RecentCount {
  readonly #spans: Spans;
  #previous = 0;
  #current = 0;

  /** @param now a monotonic clock in milliseconds */
  constructor(spanMs: number, now?: () => number) {
    this.#spans = new Spans(spanMs, now);
  }

  /** Adds what happens now. Returns the count with it. */
  add(count: number): number {
    const span = this.#spans.look();
    if (span !== 'same') {
      this.#previous = span === 'next' ? this.#current : 0;
      this.#current = 0;
    }
    this.#current += count;
    return this.#previous + this.#current;
  }
}
