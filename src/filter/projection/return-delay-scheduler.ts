import { type HeldKey, ReturnDelay } from '../../topology/decide/return-delay.ts';
import type { Clock } from '../../util/clock.ts';

/**
 * Least time between two runs of the timer, in milliseconds. When a site comes back, thousands of Services are due
 * within a short time.
 */
const MIN_INTERVAL_MS = 100;

/**
 * The return delays of all Services of a view, and one timer for the first that is due.
 *
 *     no timer ──a Service waits──▶ timer for the earliest ──▶ onDue(those due) ──▶ timer for the next, or no timer
 *
 * Invariant: while any Service waits, the timer fires at the earliest time at which a nearer key may win again, but
 * not within {@link MIN_INTERVAL_MS} of its last run.
 */
export class ReturnDelayScheduler {
  readonly #clock: Clock;
  readonly #onDue: (services: readonly string[]) => void;
  readonly #delays = new Map<string, ReturnDelay>();
  /** When each Service that waits is due, in milliseconds of the clock. */
  readonly #due = new Map<string, number>();
  /** Undefined: no Service waits. */
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;
  /** When the timer last fired. */
  #firedAt = Number.NEGATIVE_INFINITY;

  /** @param onDue called with the Services whose delay has passed: they must be decided again */
  constructor(clock: Clock, onDue: (services: readonly string[]) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Decides a Service under its delay, and schedules the next decision if a nearer key is held back. */
  decide<T>(
    service: string,
    delayMs: number,
    decision: (prefer: (port: string, ready: number) => number) => T,
  ): T {
    const delay = this.#delays.get(service) ?? new ReturnDelay();
    this.#delays.set(service, delay);
    const now = this.#clock.now();
    const ports = new Set<string>();
    const result = decision((port, ready) => {
      ports.add(port);
      return delay.choose(port, ready, delayMs, now);
    });
    delay.keepOnly(ports);
    const next = delay.next(delayMs);
    if (next === undefined) {
      this.#unschedule(service);
    } else {
      this.#due.set(service, next);
      this.#schedule(next);
    }
    return result;
  }

  /** The nearer key that is held back for `<family> <port>` of a Service. Changes nothing. */
  held(service: string, port: string): HeldKey | undefined {
    return this.#delays.get(service)?.held(port);
  }

  /** Forgets a Service: it no longer exists, or its next decision takes effect immediately. */
  forget(service: string): void {
    this.#delays.delete(service);
    this.#unschedule(service);
  }

  close(): void {
    this.#due.clear();
    this.#stopTimer();
  }

  #unschedule(service: string): void {
    if (this.#due.delete(service) && this.#due.size === 0) this.#stopTimer();
  }

  /** Makes the timer fire at this time or earlier. */
  #schedule(time: number): void {
    const at = Math.max(time, this.#firedAt + MIN_INTERVAL_MS);
    if (this.#timer !== undefined && this.#timer.at <= at) return;
    this.#stopTimer();
    const delayMs = Math.max(0, at - this.#clock.now());
    this.#timer = { at, cancel: this.#clock.after(delayMs, () => this.#fire()) };
  }

  #stopTimer(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #fire(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    this.#firedAt = now;
    const due = [...this.#due].filter(([, time]) => time <= now).map(([service]) => service);
    for (const service of due) this.#due.delete(service);
    if (due.length > 0) this.#onDue(due);
    if (this.#due.size > 0) this.#schedule(earliest(this.#due.values()));
  }
}

function earliest(times: Iterable<number>): number {
  let first = Number.POSITIVE_INFINITY;
  for (const time of times) first = Math.min(first, time);
  return first;
}
