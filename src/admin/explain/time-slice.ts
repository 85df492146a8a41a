import { setImmediate as nextTurn } from 'node:timers/promises';

/** Length of a slice, in milliseconds. Then other work runs, above all the traffic of clients. */
const SLICE_MS = 5;

/**
 * Divides long work, such as an explanation of each Service, into slices, and lets the event loop run between them. A
 * slice is limited by time and not by the number of items, because a Service can have ten or ten thousand endpoints.
 */
export class TimeSlice {
  readonly #signal: AbortSignal;
  readonly #now: () => number;
  #startedAt: number;

  /**
   * @param signal aborts when the result is no longer needed
   * @param now a monotonic clock in milliseconds
   */
  constructor(signal: AbortSignal, now = () => performance.now()) {
    this.#signal = signal;
    this.#now = now;
    this.#startedAt = now();
  }

  /** Lets other work run if the slice is over, and starts the next one. Rejects with the reason of the signal. */
  async pause(): Promise<void> {
    if (this.#now() - this.#startedAt < SLICE_MS) return;
    await nextTurn();
    this.#signal.throwIfAborted();
    this.#startedAt = this.#now();
  }
}
