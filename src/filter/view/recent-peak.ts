import type { LogBounds } from './event-log.ts';

/** A size counts for at least this time, in milliseconds, and at most twice as long. */
const SPAN_MS = 60_000;
const EMPTY_LOG: LogBounds = { entries: 0, bytes: 0 };

/** The largest size of a view in the last one to two minutes. */
export class RecentPeak {
  readonly #now: () => number;
  /** Start of the current span. */
  #since: number;
  /** Peak of the previous span. */
  #previous = EMPTY_LOG;
  /** Peak of the current span. */
  #current = EMPTY_LOG;
  /** The latest size. */
  #last = EMPTY_LOG;

  /** @param now a monotonic clock in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#since = now();
  }

  /** Takes the size from now on, and returns the recent peak. */
  add(size: LogBounds): LogBounds {
    const elapsed = this.#now() - this.#since;
    if (elapsed >= SPAN_MS) {
      this.#previous = elapsed < 2 * SPAN_MS ? this.#current : this.#last;
      this.#current = this.#last;
      this.#since += elapsed;
    }
    this.#last = size;
    this.#current = larger(this.#current, size);
    return larger(this.#previous, this.#current);
  }
}

function larger(a: LogBounds, b: LogBounds): LogBounds {
  return { entries: Math.max(a.entries, b.entries), bytes: Math.max(a.bytes, b.bytes) };
}
