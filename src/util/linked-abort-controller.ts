/**
 * Ends one request: when the outer signal is aborted, or by {@link abort}. Unlike AbortSignal.any it leaves no
 * listener at an outer signal that lives longer than the request, once it is released.
 */
export class LinkedAbortController {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #forward = () => this.abort(this.#outer?.reason);

  constructor(outer: AbortSignal | undefined) {
    this.#outer = outer;
    if (outer?.aborted) this.#forward();
    else outer?.addEventListener('abort', this.#forward, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Removes the listener from the outer signal. */
  release(): void {
    this.#outer?.removeEventListener('abort', this.#forward);
  }
}

/**
 * Waits for a promise, but rejects with the signal's reason as soon as that is aborted. The promise goes on; if its
 * result holds resources, its caller must release them.
 */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}
