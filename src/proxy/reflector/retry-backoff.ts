import type { WrapperError } from '../../errors.ts';
import type { Clock } from '../../util/clock.ts';
import { FAILURE_RULES, type FailureCause } from './failure-rules.ts';

/** A longer Retry-After is cut to this, in milliseconds. */
const MAX_RETRY_AFTER_MS = 30_000;
/** From then on the longest wait of a cause is its `lateMs`, in milliseconds. */
const LATE_MS = 60_000;

/** The waits of one query after its failures, by the table of {@link FAILURE_RULES}. */
export class RetryBackoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  /** Failures of one cause in a row, without progress between them. */
  #row:
    | { readonly cause: FailureCause; readonly since: number; readonly count: number }
    | undefined;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Failures in a row that have the cause of the last one; 0 after progress. */
  get inARow(): number {
    return this.#row?.count ?? 0;
  }

  /** A list has arrived, or a watch was of use: the next failure is a first one. */
  reset(): void {
    this.#row = undefined;
  }

  /** Records a failure. Returns how long the query waits by itself, in milliseconds. */
  failed(cause: FailureCause, error: WrapperError): number {
    const now = this.#clock.now();
    const row = this.#row?.cause === cause ? this.#row : { cause, since: now, count: 0 };
    this.#row = { ...row, count: row.count + 1 };
    const { firstMs, maxMs, lateMs = maxMs } = FAILURE_RULES[cause];
    const limit = now - row.since < LATE_MS ? maxMs : lateMs;
    // 0 for the first, then from a fifth of a second on.
    const doubled =
      row.count === 0 ? firstMs : Math.max(firstMs, 100) * 2 ** Math.min(row.count, 20);
    const wait = Math.min(limit, doubled) * (0.5 + 0.5 * this.#random());
    const retryAfter = (error.status?.retryAfterSeconds ?? 0) * 1000;
    if (cause !== 'overloaded') return wait;
    // Later than requested, never sooner, so that the nodes do not come back in step.
    return Math.max(wait, Math.min(retryAfter, MAX_RETRY_AFTER_MS) * (1 + 0.25 * this.#random()));
  }
}
