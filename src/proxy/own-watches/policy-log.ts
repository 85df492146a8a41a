import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../../util/clock.ts';
import { LimitedLog } from '../../util/limited-log.ts';

/** Each Namespace has 5 lines at once, and then one a minute. */
const NAMESPACE_LOG_LIMIT = { burst: 5, refillMs: 60_000 } as const;
/** Namespaces whose lines are counted; when there are more, the one without a line for longest starts again. */
const MAX_NAMESPACES = 1_000;

/**
 * Logs what is wrong with annotations of Services and Namespaces. Whoever owns a Namespace can write as many as it likes,
 * so each Namespace has its own limit: it leaves the lines of the others alone.
 */
export class PolicyLog {
  readonly #logs: LRUCache<string, LimitedLog>;

  constructor(logger: Logger, clock: Clock = systemClock) {
    this.#logs = new LRUCache<string, LimitedLog>({
      max: MAX_NAMESPACES,
      memoMethod: () => new LimitedLog({ logger, clock, ...NAMESPACE_LOG_LIMIT }),
      dispose: (log) => log.flush(),
    });
  }

  warn(namespace: string, fields: object, text: string): void {
    this.#logs.memo(namespace).warn(fields, text);
  }

  /** Writes what waits for room. */
  close(): void {
    this.#logs.clear();
  }
}
