import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

/** What {@link poll} saw last, and how long it took. */
export interface Polled<T> {
  readonly value: T;
  /** Milliseconds from the call until the probe that was accepted had answered. */
  readonly elapsedMs: number;
}

export interface PollOptions {
  /** Milliseconds until giving up. Default 30,000: for a busy machine. */
  readonly timeoutMs?: number;
  /** Milliseconds between two probes. Default 25. */
  readonly intervalMs?: number;
  /** The condition, for the error message. */
  readonly what?: string;
}

/**
 * Polls `probe` until `accept` takes its value. A probe that throws counts as not yet. On a
 * timeout it throws an error that shows the last value, or the last error of the probe.
 */
export async function poll<T>(
  probe: () => T | Promise<T>,
  accept: (value: T) => boolean,
  options: PollOptions = {},
): Promise<Polled<T>> {
  const { timeoutMs = 30_000, intervalMs = 25, what = 'the condition' } = options;
  const start = performance.now();
  for (;;) {
    // Text is made of it only if it is the last one.
    let last: () => string;
    try {
      const value = await probe();
      const elapsedMs = Math.round(performance.now() - start);
      if (accept(value)) return { value, elapsedMs };
      last = () => `last value: ${inspect(value, { depth: 6, breakLength: 100 })}`;
    } catch (error) {
      last = () => `last error: ${error instanceof Error ? error.message : String(error)}`;
    }
    if (performance.now() - start > timeoutMs) {
      throw new Error(`${what} did not come true within ${timeoutMs} ms; ${last()}`);
    }
    await sleep(intervalMs);
  }
}
