import { type HeldKey, ReturnDelay } from '../../topology/decide/return-delay.ts';
import type { Clock } from './clock.ts';

/**
 * Time between looks at all that wait, in milliseconds: where a site comes back, thousands of Services are due a
 * moment apart.
 */
const APART_MS = 100;

/**
 * The return delays of all Services of a view, and one timer for the first that is due.
 *
 * Invariant: while any Service waits, the timer runs to the earliest time at which a nearer key may be
 * returned to, or to {@link APART_MS} after the last look.
 */
export class ReturnDelays {
  readonly #clock: Clock;
  readonly #onDue: (services: readonly string[]) => void;
  readonly #delays = new Map<string, ReturnDelay>();
  /** When each Service that waits is due, in milliseconds of the clock. */
  readonly #due = new Map<string, number>();
  #cancel: (() => void) | undefined;
  #wakesAt = Number.POSITIVE_INFINITY;
  #wokeAt = Number.NEGATIVE_INFINITY;

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
    const at = Math.max(time, this.#wokeAt + APART_MS);
    if (at >= this.#wakesAt) return;
    this.#cancel?.();
    this.#wakesAt = at;
    this.#cancel = this.#clock.after(Math.max(0, at - this.#clock.now()), () => this.#wake());
  }

  #wake(): void {
    this.#wakesAt = Number.POSITIVE_INFINITY;
    this.#cancel = undefined;
    const now = this.#clock.now();
    this.#wokeAt = now;
    const due = [...this.#due].filter(([, time]) => time <= now).map(([service]) => service);
    for (const service of due) this.#due.delete(service);
    if (due.length > 0) this.#onDue(due);
    if (this.#due.size > 0) this.#wakeAt(earliest(this.#due.values()));
  }
}

function earliest(times: Iterable<number>): number {
  let first = Number.POSITIVE_INFINITY;
  for (const time of times) first = Math.min(first, time);
  return first;
}
