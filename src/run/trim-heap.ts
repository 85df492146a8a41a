import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Logger } from 'pino';
import { pollUntil } from './poll-until.ts';

const FIRST_LISTS_MS = 2_000;
/** New views of so many bytes have left several times as much garbage. */
const LARGE_BYTES = 4 * 1024 * 1024;
/** The shortest time between two collections, in milliseconds: any client can open views. */
const PAUSE_MS = 60_000;

/** The views that are open now. */
interface OpenViews {
  readonly sources: readonly { readonly view: { readonly bytes: number } }[];
}

/**
 * Frees the memory that only the first lists needed, and those of a large view that is opened later. V8 would keep
 * these pages, a tenth of the process, because this program allocates little afterwards. With 10,000 Services the
 * process stops for 0.1 to 0.3 s; to read such a view stops it for longer. After the first lists, kube-proxies write
 * their tables for seconds, and data that arrives waits in the sockets. Figures: bench/NOTES.md. Never rejects.
 *
 * @param signal ends it
 */
export async function trimHeapAfterLists(options: {
  readonly isReady: () => boolean;
  readonly views: OpenViews;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Time for clients to read their first lists after that, in milliseconds; default 2,000: for those of one node. */
  readonly firstListsMs?: number;
  /** The shortest time between two collections, in milliseconds; default 60,000. */
  readonly pauseMs?: number;
  /** Default: collects all garbage and returns all free pages to the system. */
  readonly collect?: () => void;
}): Promise<void> {
  const { isReady, views, logger, signal } = options;
  const { firstListsMs = FIRST_LISTS_MS, pauseMs = PAUSE_MS, collect = collectAll } = options;
  try {
    await pollUntil(isReady, signal);
    for (;;) {
      await delay(firstListsMs, undefined, { signal, ref: false });
      const before = { at: performance.now(), bytes: process.memoryUsage.rss() };
      collect();
      const ms = Math.round(performance.now() - before.at);
      const freed = before.bytes - process.memoryUsage.rss();
      logger.debug({ ms, freed }, 'freed the memory of the first lists');
      const known = new WeakSet(views.sources.map(({ view }) => view));
      const hasLarge = (): boolean => {
        const opened = views.sources.filter(({ view }) => !known.has(view));
        return opened.reduce((sum, { view }) => sum + view.bytes, 0) >= LARGE_BYTES;
      };
      await delay(pauseMs, undefined, { signal, ref: false });
      await pollUntil(hasLarge, signal);
    }
  } catch (error) {
    if (signal.aborted) return;
    const { message: err } = error as Error;
    logger.warn(
      { err },
      'cannot free the memory of the first lists; the process works, but needs more memory',
    );
  }
}

function collectAll(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
