import { WrapperError } from '../../errors.ts';
import { LinkedAbortController } from '../../util/linked-abort-controller.ts';

/** All work of one upstream, so that it can be aborted together when the upstream is closed. */
export class AbortGroup {
  /** With the server that was asked, if any was. */
  readonly #members = new Map<LinkedAbortController, URL | undefined>();
  #state: 'open' | 'closed' = 'open';

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** Adds work that ends with the signal and with the group. In a closed group it is aborted from the start. */
  begin(signal: AbortSignal | undefined): LinkedAbortController {
    const abort = new LinkedAbortController(signal);
    this.#members.set(abort, undefined);
    if (this.isClosed) abort.abort(closedError());
    return abort;
  }

  /** Records that work waits for a server. */
  sent(abort: LinkedAbortController, server: URL): void {
    if (this.#members.has(abort)) this.#members.set(abort, server);
  }

  /** Aborts the work that waits for a server. */
  giveUp(server: URL, reason: WrapperError): void {
    for (const [abort, asked] of this.#members) {
      if (asked?.href === server.href) abort.abort(reason);
    }
  }

  /** Removes work that has ended. */
  end(abort: LinkedAbortController): void {
    this.#members.delete(abort);
    abort.release();
  }

  /** Aborts all work, now and later. */
  close(): void {
    this.#state = 'closed';
    for (const abort of this.#members.keys()) abort.abort(closedError());
  }
}

function closedError(): WrapperError {
  return new WrapperError('Unreachable', 'the connection to the API server is being closed');
}
