import type { Level, Logger } from 'pino';
import { WrapperError } from '../../errors.ts';

/** One thing that was refused. */
export interface Refusal {
  /** Name of the setting with the address of the listener. */
  readonly listener: string;
  /** Why, in one word, e.g. `Forbidden`: the kind under which it is counted. */
  readonly reason: string;
  /** Why, for the reader. */
  readonly message: string;
  /** Default: `info`. */
  readonly level?: Extract<Level, 'info' | 'warn' | 'error'>;
  /** An error that is none of ours, with its stack. */
  readonly err?: unknown;
  readonly verb?: string | undefined;
  /** Path and query as the client sent them. */
  readonly resource?: string | undefined;
  /** Address and user agent. */
  readonly client?: string | undefined;
}

interface Kind {
  /** Since the start. */
  total: number;
  /** Since the last line. */
  unlogged: number;
  last: Refusal | undefined;
  /** Runs for a period after each line. */
  timer: NodeJS.Timeout | undefined;
}

/** After a line, a kind is not logged again for this long, in milliseconds. */
const PERIOD_MS = 60_000;
/** Kinds of one listener; any further ones are counted as one. */
const MAX_KINDS = 24;
const OTHER = 'Other';
/** Characters of each text that are logged; most of it may come from a client. */
const MAX_TEXT = 300;

/**
 * Logs what listeners refuse, without a line for each: any client can cause as many refusals as it likes. The
 * first of a kind is logged with its details. The others of the same kind are counted, and logged as one
 * number with the last of them, at most once a minute. After a minute without any, the next one is a first one.
 *
 * Bounded: a kind is a listener and a reason, and there are at most 25 for each listener.
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
    const line = `refused: ${reason}: ${printable(message)}`;
    this.#logger[refusal.level ?? 'info'](fieldsOf(refusal), line);
    this.#waitFor(kind);
  }

  /** How many were refused since the start, by listener and reason. */
  *counts(): Generator<{ listener: string; reason: string; count: number }> {
    for (const [listener, kinds] of this.#listeners)
      for (const [reason, { total: count }] of kinds) yield { listener, reason, count };
  }

  /** Logs what is counted and not logged. */
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

  /** False: there was nothing to log. */
  #logCount(kind: Kind): boolean {
    const { last, unlogged } = kind;
    if (last === undefined) return false;
    kind.unlogged = 0;
    kind.last = undefined;
    const time = `${this.#periodMs / 1000} s`;
    const line = `refused ${unlogged} more in the last ${time}: ${last.reason}: ${printable(last.message)}`;
    this.#logger[last.level ?? 'info']({ ...fieldsOf(last), refused: unlogged }, line);
    return true;
  }
}

/** The kind of an error: from the closed set of ours, never what an API server calls it. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof WrapperError)) return 'InternalError';
  if (error.code !== 'LimitExceeded') return error.code;
  return error.status?.reason ?? error.code;
}

function fieldsOf({ listener, reason, verb, resource, client, err }: Refusal): object {
  return {
    ...{ listener, reason },
    ...(verb === undefined ? {} : { verb: printable(verb) }),
    ...(resource === undefined ? {} : { resource: printable(resource) }),
    ...(client === undefined ? {} : { client: printable(client) }),
    ...(err === undefined ? {} : { err }),
  };
}

/** Cut, and with escapes in place of what could control a terminal or turn the direction of text. */
function printable(text: string): string {
  return text
    .slice(0, MAX_TEXT)
    .replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
