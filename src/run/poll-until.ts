import { setTimeout as delay } from 'node:timers/promises';

/** Time between two looks, in milliseconds. */
const CONDITION_POLL_MS = 500;

/** Resolves when the condition holds. Rejects when the signal aborts. Does not keep the process alive. */
export async function pollUntil(condition: () => boolean, signal: AbortSignal): Promise<void> {
  while (!condition()) await delay(CONDITION_POLL_MS, undefined, { signal, ref: false });
}
