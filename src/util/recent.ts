import { SingleFlight } from './single-flight.ts';

/** A result that takes long and that many ask for: all that ask at the same time, or shortly after, share it. */
export class Recent<T> {
  readonly #sharedMs: number;
  readonly #work: () => Promise<T>;
  readonly #running = new SingleFlight<T>();
  #last: { readonly at: number; readonly result: T } | undefined;

  /** @param sharedMs for how long a result is given again, in milliseconds */
  constructor(sharedMs: number, work: () => Promise<T>) {
    this.#sharedMs = sharedMs;
    this.#work = work;
  }

  /** Rejects if the work does; the next caller then starts it again. */
  async get(): Promise<T> {
    const last = this.#last;
    if (last !== undefined && performance.now() - last.at < this.#sharedMs) return last.result;
    return await this.#running.run(async () => {
      const result = await this.#work();
      this.#last = { at: performance.now(), result };
      return result;
    });
  }
}
