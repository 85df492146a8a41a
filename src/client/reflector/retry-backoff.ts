import type { WrapperError } from '../../errors.ts';
import type { Clock } from '../../util/clock.ts';
import { type EndRule, REQUEST_ENDS, type RequestEnd } from '../api/request-end.ts';

/** Waits that double with each further failure in a row; in milliseconds. */
interface Wait {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Replaces `maxMs` after a minute of nothing but this end; default: `maxMs`. */
  readonly lateMs?: number;
}

/** Whatever they are, QueryLimits bounds the requests of each query. */
const WAITS: Readonly<Record<EndRule['wait'], Wait>> = {
  none: { firstMs: 0, maxMs: 3_000 },
  short: { firstMs: 200, maxMs: 3_000 },
  /** Retry-After applies if it is longer. */
  long: { firstMs: 1_000, maxMs: 3_000 },
  /** Somebody has to act. */
  patient: { firstMs: 500, maxMs: 3_000, lateMs: 30_000 },
  /** Each attempt may be a whole list. */
  costly: { firstMs: 200, maxMs: 10_000, lateMs: 60_000 },
};

/** A longer Retry-After is cut to this, in milliseconds. */
const MAX_RETRY_AFTER_MS = 30_000;
/** From then on the longest wait is `lateMs`, in milliseconds. */
const LATE_MS = 60_000;

/**
 * The waits of one query after its failures. A list, an event, or a watch of 10 s starts them again with the first one.
 * Up to half of each wait is removed at random.
 */
export class RetryBackoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  /** Requests in a row with one end, without progress between them. */
  #row: { readonly end: RequestEnd; readonly since: number; readonly count: number } | undefined;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Requests in a row with the end of the last one; 0 after progress. */
  get failuresInARow(): number {
    return this.#row?.count ?? 0;
  }

  /** A list has arrived, or a watch was of use: the next failure is a first one. */
  reset(): void {
    this.#row = undefined;
  }

  /** Records a failure. Returns how long the query waits by itself, in milliseconds. */
  failed(end: RequestEnd, { status }: WrapperError): number {
    const now = this.#clock.now();
    const row = this.#row?.end === end ? this.#row : { end, since: now, count: 0 };
    this.#row = { ...row, count: row.count + 1 };
    const { wait } = REQUEST_ENDS[end];
    const { firstMs, maxMs, lateMs = maxMs } = WAITS[wait];
    const limit = now - row.since < LATE_MS ? maxMs : lateMs;
    // Only the first wait can be 0: those after it begin with a fifth of a second.
    const doubled =
      row.count === 0 ? firstMs : Math.max(firstMs, 100) * 2 ** Math.min(row.count, 20);
    const waitMs = Math.min(limit, doubled) * (0.5 + 0.5 * this.#random());
    if (wait !== 'long') return waitMs;
    const retryAfterMs = Math.min((status?.retryAfterSeconds ?? 0) * 1000, MAX_RETRY_AFTER_MS);
    // Later than requested, never sooner, so that the nodes do not come back in step.
    return Math.max(waitMs, retryAfterMs * (1 + 0.25 * this.#random()));
  }
}
