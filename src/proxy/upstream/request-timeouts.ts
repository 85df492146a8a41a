import { WrapperError } from '../../errors.ts';

/**
 * Ends a request that does not get on: a peer that is gone sends no FIN, and one that is hostile sends a byte
 * now and then. Has one timer for each of its limits.
 */
export class RequestTimeouts {
  readonly #controller = new AbortController();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #outer: AbortSignal;
  readonly #forward = () => this.#controller.abort(this.#outer.reason);

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    if (outer.aborted) this.#forward();
    else outer.addEventListener('abort', this.#forward, { once: true });
  }

  /** For the request. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts a limit, or starts it over: the request is ended after `ms`, for what the API server did not do. */
  set(limit: string, ms: number, omission: string): void {
    const running = this.#timers.get(limit);
    if (running !== undefined) {
      running.refresh();
      return;
    }
    const message = `the API server ${omission} for ${ms / 1000} s`;
    const expire = (): void => this.#controller.abort(new WrapperError('Unreachable', message));
    this.#timers.set(limit, setTimeout(expire, ms));
  }

  /** The reason for an error: that of the abort, if there was one of ours. */
  explain(error: unknown): unknown {
    return this.signal.aborted && !this.#outer.aborted ? this.signal.reason : error;
  }

  /** Ends the limits, and the request if it still runs. */
  end(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#outer.removeEventListener('abort', this.#forward);
    this.#controller.abort();
  }
}
