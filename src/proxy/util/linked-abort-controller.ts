/**
 * The end of one request: when the caller's signal says so, or {@link now}. Unlike AbortSignal.any it leaves
 * nothing behind at a signal that lives longer than the request.
 */
export class LinkedAbortController {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #forward = () => this.now(this.#outer?.reason);

  constructor(outer: AbortSignal | undefined) {
    this.#outer = outer;
    if (outer?.aborted) this.#forward();
    else outer?.addEventListener('abort', this.#forward, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  now(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Lets go of the caller's signal. */
  release(): void {
    this.#outer?.removeEventListener('abort', this.#forward);
  }
}

/**
 * Waits for a promise, but no longer than the signal. Whoever gets the promise's answer
 * after that has to let go of it.
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
