import type { Level, Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { escapeUntrusted } from '../../untrusted-text.ts';

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

interface Kind {
  /** Refusals since the start. */
  total: number;
  /** Refusals since the last line. */
  unlogged: number;
  last: Refusal | undefined;
  /** Runs for a period after each line. */
  timer: NodeJS.Timeout | undefined;
}

/** A kind is logged at most once in this time, in milliseconds. */
const PERIOD_MS = 60_000;
/** Maximum number of kinds of one listener. All further kinds are counted as `Other`. */
const MAX_KINDS = 24;
const OTHER = 'Other';
/** Maximum length of each text in a line. Clients wrote most of them. */
const MAX_TEXT = 300;

/**
 * Logs what listeners refuse, but not a line for each refusal: any client can cause as many as it likes. The first
 * refusal of a kind is logged with its details. Later ones are counted, and at most once a minute one line has their
 * number and the details of the last one. After a minute without a refusal, the next one counts as the first again.
 *
 * Memory is bounded: a kind is a listener and a reason, and each listener has at most 25 kinds.
 */
export class RefusalLog {
  readonly #logger: Logger;
  readonly #periodMs: number;
  readonly #listeners = new Map<string, Map<string, Kind>>();

  constructor(logger: Logger, periodMs = PERIOD_MS) {
    this.#logger = logger;
    this.#periodMs = periodMs;
  }

  record(refusal: Refusal): void {
    const kind = this.#kindOf(refusal);
    kind.total++;
    if (kind.timer !== undefined) {
      kind.unlogged++;
      kind.last = refusal;
      return;
    }
    const { reason, message } = refusal;
    const line = `refused: ${reason}: ${escaped(message)}`;
    this.#logger[refusal.level ?? 'info'](fieldsOf(refusal), line);
    this.#waitFor(kind);
  }

  /** Number of refusals since the start, by listener and reason. */
  *counts(): Generator<{ listener: string; reason: string; count: number }> {
    for (const [listener, kinds] of this.#listeners)
      for (const [reason, { total: count }] of kinds) yield { listener, reason, count };
  }

  /** Logs the refusals that are counted and not logged yet. */
  close(): void {
    for (const kinds of this.#listeners.values()) {
      for (const kind of kinds.values()) {
        clearTimeout(kind.timer);
        kind.timer = undefined;
        this.#logCount(kind);
      }
    }
  }

  #kindOf({ listener, reason }: Refusal): Kind {
    const kinds = this.#listeners.get(listener) ?? new Map<string, Kind>();
    this.#listeners.set(listener, kinds);
    const name = kinds.has(reason) || kinds.size < MAX_KINDS ? reason : OTHER;
    const kind = kinds.get(name) ?? { total: 0, unlogged: 0, last: undefined, timer: undefined };
    kinds.set(name, kind);
    return kind;
  }

  #waitFor(kind: Kind): void {
    kind.timer = setTimeout(() => {
      kind.timer = undefined;
      if (this.#logCount(kind)) this.#waitFor(kind);
    }, this.#periodMs).unref();
  }

  /** Returns false if there was nothing to log. */
  #logCount(kind: Kind): boolean {
    const { last, unlogged } = kind;
    if (last === undefined) return false;
    kind.unlogged = 0;
    kind.last = undefined;
    const time = `${this.#periodMs / 1000} s`;
    const line = `refused ${unlogged} more in the last ${time}: ${last.reason}: ${escaped(last.message)}`;
    this.#logger[last.level ?? 'info']({ ...fieldsOf(last), refused: unlogged }, line);
    return true;
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
    ...(verb === undefined ? {} : { verb: escaped(verb) }),
    ...(resource === undefined ? {} : { resource: escaped(resource) }),
    ...(client === undefined ? {} : { client: escaped(client) }),
    err,
  };
}

function escaped(text: string): string {
  return escapeUntrusted(text, MAX_TEXT);
}
