import type { LogBounds } from './event-log.ts';

/** How long a size is remembered at least, in milliseconds; at most twice as long. */
const SPAN_MS = 60_000;
const NOTHING: LogBounds = { entries: 0, bytes: 0 };

/** The largest that a view was lately. */
export class RecentPeak {
  readonly #now: () => number;
  /** When the span under way began. */
  #since: number;
  /** Peaks of the span before, and of the one under way. */
  #before = NOTHING;
  #current = NOTHING;
  /** The size up to now: it has not changed since it was noted. */
  #last = NOTHING;

  /** @param now a monotonic clock in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#since = now();
  }

  /** Notes the size from now on; returns the largest. */
  note(size: LogBounds): LogBounds {
    const elapsed = this.#now() - this.#since;
    if (elapsed >= SPAN_MS) {
      this.#before = elapsed < 2 * SPAN_MS ? this.#current : this.#last;
      this.#current = this.#last;
      this.#since += elapsed;
    }
    this.#last = size;
    this.#current = larger(this.#current, size);
    return larger(this.#before, this.#current);
  }
}

function larger(a: LogBounds, b: LogBounds): LogBounds {
  return { entries: Math.max(a.entries, b.entries), bytes: Math.max(a.bytes, b.bytes) };
}
