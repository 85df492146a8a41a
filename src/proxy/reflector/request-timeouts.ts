import { LinkedAbortController } from '../../util/linked-abort-controller.ts';
import { RequestError } from '../api/request-error.ts';

/**
 * Ends a request that makes no progress: a peer that is gone sends no FIN, and a hostile one sends a byte now and
 * then. There is one timer for each limit.
 */
export class RequestTimeouts {
  readonly #controller: LinkedAbortController;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #outer: AbortSignal;

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    this.#controller = new LinkedAbortController(outer);
  }

  /** For the request. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts a limit, or restarts it: the request ends after `ms`, because of what the API server did not do. */
  set(limit: string, ms: number, omission: string): void {
    const running = this.#timers.get(limit);
    if (running !== undefined) {
      running.refresh();
      return;
    }
    const message = `the API server ${omission} for ${ms / 1000} s`;
    const expire = (): void =>
      this.#controller.abort(new RequestError('brokenOff', message, { silentMs: ms }));
    this.#timers.set(limit, setTimeout(expire, ms));
  }

  /** The reason for an error: the limit that was exceeded, if one was. */
  explain(error: unknown): unknown {
    return this.signal.aborted && !this.#outer.aborted ? this.signal.reason : error;
  }

  /** Stops all timers, and ends the request if it still runs. */
  end(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#controller.release();
    this.#controller.abort();
  }
}
