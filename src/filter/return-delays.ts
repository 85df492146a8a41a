import { type HeldKey, ReturnDelay } from '../topology/return-delay.ts';
import type { Clock } from './clock.ts';

/**
 * The return delays of all Services of a view, and one timer for the first that is due.
 *
 * Invariant: while any Service waits, the timer runs to the earliest time at which a nearer key may be
 * returned to.
 */
export class ReturnDelays {
  readonly #clock: Clock;
  readonly #onDue: (services: readonly string[]) => void;
  readonly #delays = new Map<string, ReturnDelay>();
  /** When each Service that waits is due, in milliseconds of the clock. */
  readonly #due = new Map<string, number>();
  #cancel: (() => void) | undefined;
  #wakesAt = Number.POSITIVE_INFINITY;

  /** @param onDue called with the Services to be decided again */
  constructor(clock: Clock, onDue: (services: readonly string[]) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Runs a decision about a Service under its delay, then sees to it that it is taken again when due. */
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
      this.#rest(service);
    } else {
      this.#due.set(service, next);
      this.#wakeAt(next);
    }
    return result;
  }

  /** What is held of a family and port of a Service. Looking changes nothing. */
  held(service: string, port: string): HeldKey | undefined {
    return this.#delays.get(service)?.held(port);
  }

  /** Forgets a Service: it is gone, or its next decision is free. */
  forget(service: string): void {
    this.#delays.delete(service);
    this.#rest(service);
  }

  close(): void {
    this.#due.clear();
    this.#sleep();
  }

  /** A Service waits no longer; when none does, no timer runs. */
  #rest(service: string): void {
    if (this.#due.delete(service) && this.#due.size === 0) this.#sleep();
  }

  #sleep(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#wakesAt = Number.POSITIVE_INFINITY;
  }

  #wakeAt(time: number): void {
    if (time >= this.#wakesAt) return;
    this.#cancel?.();
    this.#wakesAt = time;
    this.#cancel = this.#clock.after(Math.max(0, time - this.#clock.now()), () => this.#wake());
  }

  #wake(): void {
    this.#wakesAt = Number.POSITIVE_INFINITY;
    this.#cancel = undefined;
    const now = this.#clock.now();
    const due = [...this.#due].filter(([, time]) => time <= now).map(([service]) => service);
    for (const service of due) this.#due.delete(service);
    if (due.length > 0) this.#onDue(due);
    for (const time of this.#due.values()) this.#wakeAt(time);
  }
}
