import { setImmediate as otherWork } from 'node:timers/promises';
import type { Steps } from '../topology/decide/steps.ts';

/** Time after which other work, traffic above all, has its turn, in milliseconds. */
const TURN_MS = 5;

export interface TurnOptions {
  /** Ends the work: whoever wanted it is gone. */
  readonly signal?: AbortSignal;
  /** In milliseconds, monotonic; default performance.now(). */
  readonly now?: () => number;
}

/**
 * A turn of the event loop, for work that goes through all Services, or all endpoints of one. Time counts and not
 * their number, for one may have ten endpoints or ten thousand.
 */
export class TimeSlice {
  readonly signal: AbortSignal | undefined;
  readonly #now: () => number;
  #began: number;

  constructor({ signal, now = () => performance.now() }: TurnOptions = {}) {
    this.signal = signal;
    this.#now = now;
    this.#began = now();
  }

  get isOver(): boolean {
    return this.#now() - this.#began >= TURN_MS;
  }

  /** Lets other work have its turn; the next one begins after it. Rejects with the reason of the signal. */
  async pass(): Promise<void> {
    await otherWork();
    this.signal?.throwIfAborted();
    this.#began = this.#now();
  }

  /** Takes steps, and lets other work have its turn between them. Rejects with the reason of the signal. */
  async take<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      if (this.isOver) await this.pass();
    }
  }
}
