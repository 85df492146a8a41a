import type { Clock } from '../../util/clock.ts';
import type { LimitedLog } from '../../util/limited-log.ts';

/** A server that is behind a version makes all queries list again at most once in this time, in milliseconds. */
const BEHIND_MS = 60_000;

/**
 * Which history of the cluster the API server has. etcd may be restored from an older copy. The first query that
 * notices counts the history up. All others then list again, and take no object for known.
 *
 *     history n ── a list is older than what a query knew ──────────────────▶ history n + 1
 *               └─ a version is not reached that once was, once a minute ──▶ history n + 1
 *
 * A query notes `current` and `returns` when it sends a request, and ends it when they change.
 */
export class ServerHistory {
  readonly #clock: Clock;
  readonly #log: LimitedLog;
  readonly #onChange: () => void;
  #current = 0;
  #returns = 0;
  /** When a query last found the API server behind its version; monotonic. */
  #behindAt = Number.NEGATIVE_INFINITY;

  /** @param onChange called after `current` or `returns` has changed */
  constructor(clock: Clock, log: LimitedLog, onChange: () => void) {
    this.#clock = clock;
    this.#log = log;
    this.#onChange = onChange;
  }

  /** Counts the histories that were noticed. Objects of an earlier one may have any state now. */
  get current(): number {
    return this.#current;
  }

  /** How often the preferred server has been used again. Watches that were opened before move to it. */
  get returns(): number {
    return this.#returns;
  }

  /**
   * Reports that the API server has listed an older state than a query knew.
   *
   * @param seen the history that the query followed: another query may have noticed before
   */
  reportWentBack(seen: number): void {
    this.#change(seen, 'has gone back to an older state, as after a restore of etcd');
  }

  /**
   * Reports that the API server has not reached a version that it once had. It may have gone back, and other queries
   * may not notice because its new history has passed their versions. Or it is far behind another server.
   */
  reportBehind(seen: number): void {
    const now = this.#clock.now();
    if (now - this.#behindAt < BEHIND_MS) return;
    this.#behindAt = now;
    this.#change(
      seen,
      'has not reached a version that it once had: it was restored, or is far behind',
    );
  }

  /** Reports that the preferred server is used again. */
  reportReturned(): void {
    this.#returns++;
    this.#onChange();
  }

  #change(seen: number, what: string): void {
    if (seen !== this.#current) return;
    this.#current++;
    const fields = { history: this.#current };
    this.#log.warn(fields, `the API server ${what}; all collections are listed again`);
    this.#onChange();
  }
}
