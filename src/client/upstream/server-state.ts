import type { Logger } from 'pino';
import type { WrapperError } from '../../errors.ts';
import { type Clock, systemClock } from '../../util/clock.ts';
import { LimitedLog } from '../../util/limited-log.ts';
import { REQUEST_ENDS, type RequestEnd, type ServerFailure } from '../api/request-end.ts';
import { AttemptQueue } from './attempt-queue.ts';
import { ServerHistory } from './server-history.ts';

/** See {@link ServerState}. */
export type ServerCondition =
  | { readonly name: 'unknown' }
  | { readonly name: 'reachable' }
  | {
      readonly name: ServerFailure;
      /** Monotonic, in milliseconds. */
      readonly since: number;
      readonly error: WrapperError;
    };

export interface ServerStateOptions {
  readonly logger: Logger;
  /** Default: the machine's monotonic clock. */
  readonly clock?: Clock | undefined;
  /** Source of randomness in [0, 1). */
  readonly random?: (() => number) | undefined;
}

const CONSEQUENCE: Readonly<Record<ServerFailure, string>> = {
  unreachable: 'the API server is unreachable',
  misbehaving: 'the API server answers with errors',
  refusing: 'the API server rejects our credentials',
};

/**
 * The state of the API server, as all queries together have found it. There is one for all of them,
 * whichever of several servers is in use, because these have one history.
 *
 *                  usable response
 *     unknown ─────────────────────────▶ reachable ◀──── usable response ────┐
 *        │                                   │                               │
 *        │ a request failed                  │ a request failed, no watch    │
 *        │                                   │ is open, and none was         │
 *        ▼                                   ▼ answered since it was sent    │
 *     unreachable, misbehaving, refusing ────────────────────────────────────┘
 *
 * While it is unreachable, misbehaving or refusing, the queries wait in a queue. Every second or two one of them tries
 * again, and the first usable response to any of them releases all; see {@link AttemptQueue}.
 */
export class ServerState {
  /** For lines about failures: bounded for all queries together. */
  readonly log: LimitedLog;
  readonly history: ServerHistory;
  readonly #clock: Clock;
  readonly #queue: AttemptQueue;
  readonly #listeners = new Set<() => void>();
  #condition: ServerCondition = { name: 'unknown' };
  /** When a connection last brought anything; monotonic. */
  #byteAt = Number.NEGATIVE_INFINITY;
  /** When it last accepted a connection or sent a part of a response; monotonic. */
  #contactAt = Number.NEGATIVE_INFINITY;
  /** When it last sent a usable response; monotonic. */
  #usableAt = Number.NEGATIVE_INFINITY;
  #answered = false;
  /** The failure that the log has; undefined: none since it last answered. Failures of relays are not in it. */
  #logged: ServerFailure | undefined;
  #isGivenUp = false;
  /** Watches that are open now. */
  #watches = 0;
  /** `host:port` of servers that are caches: as many as an operator has listed, at most. */
  readonly #caches = new Set<string>();

  constructor({ logger, clock = systemClock, random = Math.random }: ServerStateOptions) {
    this.#clock = clock;
    this.log = new LimitedLog({ logger, clock });
    this.history = new ServerHistory(this.log, () => this.#notify());
    this.#queue = new AttemptQueue({ clock, random });
  }

  get condition(): ServerCondition {
    return this.#condition;
  }

  /** Since when it has given no usable response to anyone; monotonic. Undefined: it answers, or got no request. */
  get unreachableSince(): number | undefined {
    return 'since' in this.#condition ? this.#condition.since : undefined;
  }

  /**
   * Whether no server answers, so that nothing is known of the cluster: it is unreachable, or a gateway before it only
   * sends errors. One that rejects our identity does answer.
   */
  get isCutOff(): boolean {
    const { name } = this.#condition;
    if (name === 'unreachable' || name === 'misbehaving') return true;
    // At the start the first requests may hang for longer than a query waits.
    return name === 'unknown' && this.#isGivenUp;
  }

  /** Whether it has given a usable response in the life of this process. */
  get answered(): boolean {
    return this.#answered;
  }

  /** Whether a query has waited for it long enough at the start, and it has given no usable response since. */
  get isGivenUp(): boolean {
    return this.#isGivenUp;
  }

  /** Time of the last byte of any kind, such as the answer to a PING. It shows that the path works. Monotonic. */
  get lastByteAt(): number {
    return this.#byteAt;
  }

  /** Time of the last sign of it: a part of a response, or an established connection. Monotonic. */
  get lastContactAt(): number {
    return this.#contactAt;
  }

  /** Calls the listener after the condition or the history has changed. Returns how to end that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reports that bytes have arrived on a connection. A gateway that sends PINGs sends them, too. */
  reportBytes(): void {
    this.#byteAt = this.#clock.now();
  }

  /** Reports that a connection was established, TLS included, or that a part of a response has arrived. */
  reportContact(): void {
    this.#contactAt = this.#clock.now();
    this.#byteAt = this.#contactAt;
  }

  /** Reports how a request ended that was answered. Only an answer of the API server shows anything here. */
  reportAnswer(end: RequestEnd): void {
    const { server } = REQUEST_ENDS[end];
    if (server !== 'answers' && server !== 'refusing') return;
    this.reportContact();
    this.#answered = true;
    this.#isGivenUp = false;
    // It is there, but it serves no query.
    if (server === 'refusing') return;
    this.#usableAt = this.#contactAt;
    if (this.#condition.name !== 'reachable') this.#recover(this.#contactAt);
  }

  /**
   * Whether a server is a cache of an edge platform: it begins each watch with all that it has, sends no bookmarks, and
   * does not tell when it has lost the API server. So nobody knows how old its data is.
   */
  isCache(address: string): boolean {
    return this.#caches.has(address);
  }

  reportCache(address: string): void {
    if (this.#caches.has(address)) return;
    this.#caches.add(address);
    this.log.info({ address }, 'this server is a cache: all is listed again after each watch');
  }

  /** Whether any watch is open. */
  get isWatched(): boolean {
    return this.#watches > 0;
  }

  /** A watch is open: changes arrive, whatever happens to other requests. Call the result once, when it has ended. */
  watchOpened(): () => void {
    this.#watches++;
    return () => {
      this.#watches--;
      // Its last bytes were an answer, too.
      this.#usableAt = this.#contactAt;
    };
  }

  /**
   * Reports that a request failed.
   *
   * @param sentAt when it was sent; monotonic
   * @returns whether the API server fails all queries, so that this one waits with them. Not while a watch is open, or
   * if another request was answered since this one was sent
   */
  reportFailure(end: RequestEnd, error: WrapperError, sentAt: number): boolean {
    const { server: name } = REQUEST_ENDS[end];
    if (name === 'doubtful') return this.unreachableSince !== undefined;
    if (name === '-' || name === 'answers') return false;
    if (this.isWatched || this.#usableAt >= sentAt) return false;
    if (!error.isRelay) this.#logFailure(name, error);
    if (this.#condition.name === name) {
      // A relay is tried before each API server. What they say themselves is the cause.
      if (!error.isRelay) this.#condition = { ...this.#condition, error };
      return true;
    }
    const since = this.unreachableSince ?? this.#clock.now();
    this.#condition = { name, since, error };
    this.#queue.close(since);
    this.#notify();
    return true;
  }

  /** The next server is tried after a relay. So only the API server's own failure is news; Failover logs the other. */
  #logFailure(name: ServerFailure, { message: err, code }: WrapperError): void {
    if (this.#logged === name) return;
    this.#logged = name;
    const text = `${CONSEQUENCE[name]}: the last known state, if there is one, is served; the API server is tried again every few seconds`;
    this.log.warn({ err, code }, text);
  }

  /** Reports that a query has waited for it long enough. Others then wait for a shorter time. */
  giveUp(): void {
    if (this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.#notify();
  }

  /**
   * Waits until a query may send its next request: until it is its turn, or the API server has answered. Resolves
   * immediately while the API server is reachable. Rejects with the reason of the signal.
   */
  untilAttempt(signal: AbortSignal): Promise<void> {
    return this.#queue.wait(signal);
  }

  #recover(now: number): void {
    const since = this.unreachableSince;
    this.#condition = { name: 'reachable' };
    if (since !== undefined && this.#logged !== undefined) {
      this.#logged = undefined;
      const seconds = Math.round((now - since) / 100) / 10;
      this.log.info({ seconds }, 'the API server answers again');
    }
    this.#queue.open();
    this.#notify();
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
