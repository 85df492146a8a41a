import type { LimitedLog } from '../../util/limited-log.ts';

/**
 * Which history of the cluster the API server has. etcd may be restored from an older copy. The first query that
 * notices counts the history up. All others then list again, and take no object for known.
 *
 *     history n ── the newest state is older than what a query knew ──▶ history n + 1
 *
 * A query notes `current` and `returns` when it sends a request, and ends it when they change.
 */
export class ServerHistory {
  readonly #log: LimitedLog;
  readonly #onChange: () => void;
  #current = 0;
  #returns = 0;

  /** @param onChange called after `current` or `returns` has changed */
  constructor(log: LimitedLog, onChange: () => void) {
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
   * Reports that the newest state of the API server is older than what a query knew. Other queries may not notice,
   * because the new history has passed their versions.
   *
   * @param seen the history that the query followed: another query may have noticed before
   */
  reportWentBack(seen: number): void {
    if (seen !== this.#current) return;
    this.#current++;
    const text =
      'the API server has gone back to an older state, as after a restore of etcd; all collections are listed again';
    this.#log.warn({ history: this.#current }, text);
    this.#onChange();
  }

  /** Reports that the preferred server is used again. */
  reportReturned(): void {
    this.#returns++;
    this.#onChange();
  }
}
