import { setTimeout as sleep } from 'node:timers/promises';
import type { ActiveFault } from './active-fault.ts';

/** How much longer than planned a fault lasts at most that has not harmed anything yet. */
const HIT_MS = 10_000;

/** A fault that waits for a request goes on until one came; one that is still harmless then does not count. */
export async function waitForHit(active: ActiveFault): Promise<void> {
  const deadline = performance.now() + HIT_MS;
  while (active.hits() === 0 && performance.now() < deadline) await sleep(20);
}
