import type { Clock } from '../../util/clock.ts';

/**
 * Least time between two runs of the timer, in milliseconds. When a site comes back, thousands of Services are due
 * within a short time.
 */
const MIN_INTERVAL_MS = 100;

/**
 * The Services that must be decided again at a time, and one timer for the first of them.
 *
 * Invariant: while a Service is due later, the timer fires at its time or earlier, but not within
 * {@link MIN_INTERVAL_MS} of its last run.
 */
export class DueServices {
  readonly #clock: Clock;
  readonly #onDue: (services: readonly string[]) => void;
  /** When each Service is due, in milliseconds of the clock. */
  readonly #due = new Map<string, number>();
  /** Undefined: no Service is due. */
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;
  /** When the timer last fired. */
  #firedAt = Number.NEGATIVE_INFINITY;

  /** @param onDue called from a timer, with the Services whose time has come */
  constructor(clock: Clock, onDue: (services: readonly string[]) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Sets when a Service is due; undefined: never. */
  set(service: string, at: number | undefined): void {
    if (at === undefined) {
      this.#due.delete(service);
    } else {
      this.#due.set(service, at);
      this.#schedule(at);
    }
  }

  close(): void {
    this.#timer?.cancel();
  }

  /** Makes the timer fire at this time or earlier. */
  #schedule(time: number): void {
    const at = Math.max(time, this.#firedAt + MIN_INTERVAL_MS);
    if (this.#timer !== undefined && this.#timer.at <= at) return;
    this.#timer?.cancel();
    const delayMs = Math.max(0, at - this.#clock.now());
    this.#timer = { at, cancel: this.#clock.after(delayMs, () => this.#fire()) };
  }

  #fire(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    this.#firedAt = now;
    const due = [...this.#due].filter(([, at]) => at <= now).map(([service]) => service);
    for (const service of due) this.#due.delete(service);
    if (due.length > 0) this.#onDue(due);
    let next = Number.POSITIVE_INFINITY;
    for (const at of this.#due.values()) next = Math.min(next, at);
    if (this.#due.size > 0) this.#schedule(next);
  }
}
