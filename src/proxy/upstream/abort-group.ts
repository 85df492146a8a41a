import { WrapperError } from '../../errors.ts';
import { LinkedAbortController } from '../util/linked-abort-controller.ts';

/** All work of one upstream, so that it can be aborted together when the upstream is closed. */
export class AbortGroup {
  readonly #members = new Set<LinkedAbortController>();
  #state: 'open' | 'closed' = 'open';

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** Adds work that ends with the signal and with the group. In a closed group it is aborted from the start. */
  begin(signal: AbortSignal | undefined): LinkedAbortController {
    const abort = new LinkedAbortController(signal);
    this.#members.add(abort);
    if (this.isClosed) abort.abort(closedError());
    return abort;
  }

  /** Removes work that has ended. */
  end(abort: LinkedAbortController): void {
    this.#members.delete(abort);
    abort.release();
  }

  /** Aborts all work, now and later. */
  close(): void {
    this.#state = 'closed';
    for (const abort of this.#members) abort.abort(closedError());
  }
}

function closedError(): WrapperError {
  return new WrapperError('Unreachable', 'the connection to the API server is being closed');
}
