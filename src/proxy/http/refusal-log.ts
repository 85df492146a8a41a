import type { Level, Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { escapeUntrusted } from '../../untrusted-text.ts';
import { LimitedLog } from '../../util/limited-log.ts';

/** A refused request or connection. */
export interface Refusal {
  /** Name of the setting with the address of the listener. */
  readonly listener: string;
  /** Why, in one word such as `Forbidden`. Refusals are counted by it. */
  readonly reason: string;
  /** Why, as a sentence for the log. */
  readonly message: string;
  /** Default: `info`. */
  readonly level?: Extract<Level, 'info' | 'warn' | 'error'>;
  /** An unexpected error, logged with its stack. */
  readonly err?: unknown;
  readonly verb?: string;
  /** Path and query as the client sent them. */
  readonly resource?: string;
  /** Address and user agent. */
  readonly client?: string;
}

/** The refusals of one listener for one reason. */
interface Kind {
  /** Their number since the start. */
  count: number;
  readonly log: LimitedLog;
}

/** A kind is logged at most once in this time, in milliseconds. */
const PERIOD_MS = 60_000;
/** Maximum number of kinds of one listener. All further kinds are counted as `Other`. */
const MAX_KINDS = 24;
const OTHER = 'Other';
/** Maximum length of each text in a line. Clients wrote most of them. */
const MAX_TEXT = 300;

/**
 * Logs what listeners refuse, but not a line for each refusal: any client can cause as many as it likes. Each kind has
 * at most one line a minute, with the details of its last refusal and the number of those without a line (`omitted`).
 *
 * Memory is bounded: a kind is a listener and a reason, and each listener has at most 25 kinds.
 */
export class RefusalLog {
  readonly #logger: Logger;
  readonly #listeners = new Map<string, Map<string, Kind>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  record(refusal: Refusal): void {
    const { level = 'info', reason, message } = refusal;
    const kind = this.#kindOf(refusal);
    kind.count++;
    kind.log.write(level, fieldsOf(refusal), `refused: ${reason}: ${escaped(message)}`);
  }

  /** Number of refusals since the start, by listener and reason. */
  *counts(): Generator<{ listener: string; reason: string; count: number }> {
    for (const [listener, kinds] of this.#listeners)
      for (const [reason, { count }] of kinds) yield { listener, reason, count };
  }

  /** Logs the refusals that wait for room. */
  close(): void {
    for (const kinds of this.#listeners.values()) for (const { log } of kinds.values()) log.flush();
  }

  #kindOf({ listener, reason }: Refusal): Kind {
    const kinds = this.#listeners.get(listener) ?? new Map<string, Kind>();
    this.#listeners.set(listener, kinds);
    const name = kinds.has(reason) || kinds.size < MAX_KINDS ? reason : OTHER;
    const found = kinds.get(name);
    if (found !== undefined) return found;
    const log = new LimitedLog({ logger: this.#logger, burst: 1, refillMs: PERIOD_MS });
    const kind = { count: 0, log };
    kinds.set(name, kind);
    return kind;
  }
}

/** The reason of an error, from our own closed set. A reason that an API server sent is never used. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof WrapperError)) return 'InternalError';
  if (error.code !== 'LimitExceeded') return error.code;
  return error.status?.reason ?? error.code;
}

function fieldsOf({ listener, reason, verb, resource, client, err }: Refusal): object {
  return {
    listener,
    reason,
    verb: verb && escaped(verb),
    resource: resource && escaped(resource),
    client: client && escaped(client),
    err,
  };
}

function escaped(text: string): string {
  return escapeUntrusted(text, MAX_TEXT);
}
