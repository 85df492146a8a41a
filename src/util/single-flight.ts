/**
 * Lets callers share work: while a run for a key is under way, further callers get its result instead of a run of
 * their own (golang.org/x/sync/singleflight).
 */
export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  /** Shares the run under way for the key, or starts one. Callers whose work is the same need no key. */
  run(work: () => Promise<T>, key = ''): Promise<T> {
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const started = work().finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }

  /** The run under way for the key, if there is one. */
  current(key = ''): Promise<T> | undefined {
    return this.#running.get(key);
  }
}
