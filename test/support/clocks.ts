import type { Clock } from '../../src/util/clock.ts';

/** A clock that stands still. */
export const stillClock: Clock = { now: () => 0, after: () => () => undefined };

/** A clock that moves only when {@link ManualClock.pass} is called. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>();

  now(): number {
    return this.#now;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Number of timers that are set. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Moves the time, and calls each timer at its time. */
  pass(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [first] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (first === undefined) break;
      this.#timers.delete(first);
      this.#now = Math.max(this.#now, first.at);
      first.callback();
    }
    this.#now = end;
  }
}
