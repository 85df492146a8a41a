/** Limits how many callers work at the same time. Others wait for their turn, first in first out. */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  /** @param max how many may work at the same time */
  constructor(max: number) {
    this.#free = max;
  }

  /** Number of callers that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Resolves with a function that ends the turn; call it once. Rejects with the reason of the signal. */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    if (this.#free > 0) this.#free--;
    else await this.#wait(signal);
    return () => this.#release();
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = (): void => {
        this.#waiting.delete(start);
        reject(signal?.reason);
      };
      const start = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.#waiting.add(start);
    });
  }

  /** The turn passes to the first one that waits, so that a new caller cannot take it. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
