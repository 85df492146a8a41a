import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Logger } from 'pino';

/** Time between looks whether all is ready, in milliseconds. */
const POLL_MS = 500;
/** How long clients have, after all is ready, to read what there is, in milliseconds. */
const SETTLE_MS = 2_000;

/**
 * Gives back, once, the memory that was needed only to read the first lists: V8 keeps its pages, a tenth of the
 * process, for as long as it allocates as little as this program does. It stops the process for 0.1 to 0.3 s with
 * 10,000 Services, at a time when kube-proxy has just got them all and writes its tables for seconds; nothing is
 * lost meanwhile, for what arrives waits in the sockets. Figures: bench/NOTES.md. Never rejects.
 *
 * @param signal ends the wait
 */
export async function trimHeapOnceReady(options: {
  readonly isReady: () => boolean;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Time between looks, in milliseconds; default 500. */
  readonly pollMs?: number;
  /** Default: a collection of all garbage, with all free pages given back. */
  readonly collect?: () => void;
}): Promise<void> {
  const { isReady, logger, signal, pollMs = POLL_MS, collect = collectAll } = options;
  const wait = async (ms: number): Promise<void> => {
    await delay(ms, undefined, { signal, ref: false });
  };
  try {
    while (!isReady()) await wait(pollMs);
    await wait(SETTLE_MS);
    const before = { at: performance.now(), bytes: process.memoryUsage.rss() };
    collect();
    const ms = Math.round(performance.now() - before.at);
    const freed = before.bytes - process.memoryUsage.rss();
    logger.debug({ ms, freed }, 'memory of the first lists given back');
  } catch (error) {
    if (signal.aborted) return;
    const { message: err } = error as Error;
    logger.warn({ err }, 'the memory of the first lists cannot be given back');
  }
}

function collectAll(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
