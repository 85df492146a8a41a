import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { type Clock, systemClock } from './clock.ts';
import { LimitedLog } from './limited-log.ts';

/** Each share has 5 lines at once, and then one a minute. */
const SHARE = { burst: 5, refillMs: 60_000 } as const;
/** All shares together: a node that is relabelled changes the decisions of all Namespaces at once. */
const ALL = { burst: 100, refillMs: 3_000 } as const;
/** Shares that are counted; when there are more, the one without a line for longest starts again. */
const MAX_SHARES = 1_000;

/**
 * A log of what tenants cause. Whoever owns a Namespace can cause lines without end, so each Namespace has a share of
 * its own: it leaves the lines of the others alone.
 */
export class LogShares {
  readonly #logs: LRUCache<string, LimitedLog>;
  readonly #all: LimitedLog;

  constructor(logger: Logger, clock: Clock = systemClock) {
    const within = new LimitedLog({ logger, clock, ...ALL });
    this.#all = within;
    this.#logs = new LRUCache<string, LimitedLog>({
      max: MAX_SHARES,
      memoMethod: () => new LimitedLog({ logger, clock, within, ...SHARE }),
      dispose: (log) => log.flush(),
    });
  }

  of(share: string): LimitedLog {
    return this.#logs.memo(share);
  }

  /** @param key of a Namespace, or of an object in it */
  ofNamespace(key: string): LimitedLog {
    const [namespace = ''] = key.split('/', 1);
    return this.of(namespace);
  }

  /** Writes what waits for room. */
  close(): void {
    this.#logs.clear();
    this.#all.flush();
  }
}
