import type { LogBounds } from './event-log.ts';
import { Spans } from './spans.ts';

/** A size counts for at least this time, in milliseconds, and at most twice as long. */
const SPAN_MS = 60_000;
const EMPTY_LOG: LogBounds = { entries: 0, bytes: 0 };

/** The largest size of a view in the last one to two minutes. */
export class RecentPeak {
  readonly #spans: Spans;
  /** Peak of the previous span. */
  #previous = EMPTY_LOG;
  /** Peak of the current span. */
  #current = EMPTY_LOG;
  /** The latest size. */
  #last = EMPTY_LOG;

  /** @param now a monotonic clock in milliseconds */
  constructor(now?: () => number) {
    this.#spans = new Spans(SPAN_MS, now);
  }

  /** Takes the size from now on, and returns the recent peak. */
  add(size: LogBounds): LogBounds {
    const span = this.#spans.look();
    if (span !== 'same') {
      this.#previous = span === 'next' ? this.#current : this.#last;
      this.#current = this.#last;
    }
    this.#last = size;
    this.#current = larger(this.#current, size);
    return larger(this.#previous, this.#current);
  }
}

function larger(a: LogBounds, b: LogBounds): LogBounds {
  return { entries: Math.max(a.entries, b.entries), bytes: Math.max(a.bytes, b.bytes) };
}
