import { setTimeout as delay } from 'node:timers/promises';
import type { Session } from './command.ts';

/** Time between two looks at the wrapper, in milliseconds. */
const POLL_MS = 1_000;
/** A look that takes long is followed by a pause this many times as long, so that it costs the wrapper little. */
const PAUSE_FACTOR = 10;

/** For --watch: calls `look` again and again, until the session ends or it throws. */
export async function watchChanges(
  { stop }: Pick<Session, 'stop'>,
  look: () => Promise<void>,
): Promise<void> {
  while (stop?.aborted !== true) {
    const start = performance.now();
    await look();
    const pause = Math.max(POLL_MS, PAUSE_FACTOR * (performance.now() - start));
    // An aborted pause is the end, not an error.
    await delay(pause, undefined, stop && { signal: stop }).catch(() => {});
  }
}
