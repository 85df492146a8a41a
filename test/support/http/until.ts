import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until a condition is true; rejects after 20 s with the name of the condition. */
export async function until(condition: () => boolean, what = 'a condition'): Promise<void> {
  for (const start = performance.now(); performance.now() - start < 20_000; await sleep(2)) {
    if (condition()) return;
  }
  throw new Error(`waited in vain for ${what}`);
}
