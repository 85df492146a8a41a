import { setImmediate as nextTurn } from 'node:timers/promises';

/** Length of a slice, in milliseconds. Then other work runs, above all the traffic of clients. */
const SLICE_MS = 5;

/**
 * Divides long work, such as an explanation of each Service, into slices, and lets the event loop run between them. A
 * slice is limited by time and not by the number of items, because a Service can have ten or ten thousand endpoints.
 */
export class TimeSlice {
  readonly #signal: AbortSignal;
  #startedAt = performance.now();

  /** @param signal aborts when the result is no longer needed */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Lets other work run if the slice is over, and starts the next one. Rejects with the reason of the signal. */
  async pause(): Promise<void> {
    if (performance.now() - this.#startedAt < SLICE_MS) return;
    await nextTurn();
    this.#signal.throwIfAborted();
    this.#startedAt = performance.now();
  }
}
