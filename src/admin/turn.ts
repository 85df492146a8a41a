import { setImmediate as otherWork } from 'node:timers/promises';

/** Time after which other work, traffic above all, has its turn, in milliseconds. */
const TURN_MS = 5;

/**
 * A turn of the event loop, for work that goes through all Services. Time counts and not their number, for one
 * may have ten endpoints or ten thousand.
 */
export class Turn {
  #began = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#began >= TURN_MS;
  }

  /** Lets other work have its turn; the next one begins after it. */
  async pass(): Promise<void> {
    await otherWork();
    this.#began = performance.now();
  }
}
