import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Steps } from '../topology/decide/steps.ts';

/** Length of a slice, in milliseconds. Then other work runs, above all the traffic of clients. */
const SLICE_MS = 5;

export interface TimeSliceOptions {
  /** Aborts when the result is no longer needed. */
  readonly signal?: AbortSignal;
  /** A monotonic clock in milliseconds; default performance.now(). */
  readonly now?: () => number;
}

/**
 * Divides long work (all Services, or all endpoints of one) into slices, and lets the event loop run between them.
 * A slice is limited by time and not by the number of items, because a Service can have ten or ten thousand
 * endpoints.
 */
export class TimeSlice {
  readonly signal: AbortSignal | undefined;
  readonly #now: () => number;
  #startedAt: number;

  constructor({ signal, now = () => performance.now() }: TimeSliceOptions = {}) {
    this.signal = signal;
    this.#now = now;
    this.#startedAt = now();
  }

  get isOver(): boolean {
    return this.#now() - this.#startedAt >= SLICE_MS;
  }

  /** Lets other work run, then starts the next slice. Rejects with the reason of the signal. */
  async yield(): Promise<void> {
    await nextTurn();
    this.signal?.throwIfAborted();
    this.#startedAt = this.#now();
  }

  /** Runs all steps, and yields whenever a slice is over. Rejects with the reason of the signal. */
  async run<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      if (this.isOver) await this.yield();
    }
  }
}
