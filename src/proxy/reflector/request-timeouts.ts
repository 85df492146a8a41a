import { WrapperError } from '../../errors.ts';
import { LinkedAbortController } from '../../util/linked-abort-controller.ts';

/**
 * Ends a request that makes no progress: a peer that is gone sends no FIN, and a hostile one sends a byte now and
 * then.
 */
export class RequestTimeouts {
  readonly #controller: LinkedAbortController;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #outer: AbortSignal;

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    this.#controller = new LinkedAbortController(outer);
  }

  /** For the request. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the request after `ms`, because of what the API server did not do. Returns how to start that time again. */
  limit(ms: number, omission: string): () => void {
    const message = `the API server ${omission} for ${ms / 1000} s`;
    const expire = (): void =>
      this.#controller.abort(new WrapperError('Unreachable', message, { silentMs: ms }));
    const timer = setTimeout(expire, ms);
    this.#timers.push(timer);
    return () => void timer.refresh();
  }

  /** The reason for an error: the limit that was exceeded, if one was. */
  explain(error: unknown): unknown {
    return this.signal.aborted && !this.#outer.aborted ? this.signal.reason : error;
  }

  /** Stops all timers, and ends the request if it still runs. */
  end(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#controller.release();
    this.#controller.abort();
  }
}
