import type { Level, Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { escapeUntrusted } from '../../text/untrusted-text.ts';
import { LimitedLog } from '../../util/limited-log.ts';
import { ListenerCounter } from './listener-counter.ts';

/** A request or connection that is refused, or ended because its client reads nothing. */
export interface Refusal {
  /** Name of the setting with the address of the listener. */
  readonly listener: string;
  /** Why, in one word such as `Forbidden`. Refusals are counted by it. */
  readonly reason: string;
  /** Why, as a sentence for the log. */
  readonly message: string;
  /** Default: `info`, or `debug` for what belongs to each restart. */
  readonly level?: Extract<Level, 'info' | 'warn' | 'error'>;
  /** An unexpected error, logged with its stack. */
  readonly err?: unknown;
  readonly verb?: string;
  /** Path and query as the client sent them. */
  readonly resource?: string;
  /** Address and user agent. */
  readonly client?: string;
}

/** A kind is logged at most once in this time, in milliseconds. */
const PERIOD_MS = 60_000;
/** After each restart every client has this, and lists again. */
const EXPIRED = 'Expired';
/** Maximum length of each text in a line. Clients wrote most of them. */
const MAX_REFUSAL_TEXT = 300;

/**
 * Logs what listeners refuse, but not a line for each refusal: any client can cause as many as it likes. Each kind has
 * at most one line a minute, with the details of its last refusal and the number of those without a line (`omitted`).
 *
 * A kind is a listener and a reason. Memory is bounded, because reasons are from a closed set.
 */
export class RefusalLog {
  readonly #logger: Logger;
  readonly #logs = new Map<string, LimitedLog>();
  /** Refusals by listener and reason. */
  readonly counter = new ListenerCounter();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  report(refusal: Refusal): void {
    const { listener, reason, message } = refusal;
    const { level = reason === EXPIRED ? 'debug' : 'info' } = refusal;
    this.counter.count(listener, reason);
    const text = `refused: ${reason}: ${escaped(message)}`;
    this.#logOf(`${listener} ${reason}`).write(level, fieldsOf(refusal), text);
  }

  /** Logs the refusals that wait for room. */
  close(): void {
    for (const log of this.#logs.values()) log.flush();
  }

  #logOf(kind: string): LimitedLog {
    const found = this.#logs.get(kind);
    if (found !== undefined) return found;
    const log = new LimitedLog({ logger: this.#logger, burst: 1, refillMs: PERIOD_MS });
    this.#logs.set(kind, log);
    return log;
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
  return escapeUntrusted(text, MAX_REFUSAL_TEXT);
}
