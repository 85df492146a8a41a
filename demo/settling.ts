/*
 * Draws once for changes that belong together:
 *
 *   idle ──event()──▶ waiting ──no event for five turns of 40 ms, or 10 s──▶ draw ──▶ idle
 *
 * Turns, not one long timer: the wrapper works in the same process, so a timer may be over before the wrapper has
 * read anything. Each turn lets the event loop read.
 */
import { setTimeout as delay } from 'node:timers/promises';

const TURN_MS = 40;
const QUIET_TURNS = 5;
const MAX_MS = 10_000;

export interface SettlingOptions {
  /** Whether changes are still expected, so that nothing is drawn yet. */
  readonly isBusy: () => boolean;
  readonly draw: () => void;
}

export class Settling {
  readonly #options: SettlingOptions;
  readonly #stop = new AbortController();
  #quietTurns = 0;
  #waiting: Promise<void> | undefined;

  constructor(options: SettlingOptions) {
    this.#options = options;
  }

  /** Something has changed, or will. */
  event(): void {
    this.#quietTurns = 0;
    this.#waiting ??= this.#wait().finally(() => {
      this.#waiting = undefined;
    });
  }

  /** Resolves after the next draw; immediately if nothing has changed. */
  async settled(): Promise<void> {
    await this.#waiting;
  }

  /** Draws no more. */
  close(): void {
    this.#stop.abort();
  }

  async #wait(): Promise<void> {
    const { signal } = this.#stop;
    const end = performance.now() + MAX_MS;
    while (this.#quietTurns < QUIET_TURNS && performance.now() < end) {
      await delay(TURN_MS, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      this.#quietTurns = this.#options.isBusy() ? 0 : this.#quietTurns + 1;
    }
    this.#options.draw();
  }
}
