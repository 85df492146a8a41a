import type { Logger } from 'pino';
import type { WrapperError } from '../../errors.ts';
import { causeOf, isTooLargeVersion } from '../upstream/upstream-error.ts';
import { createBackoff } from '../util/backoff.ts';

/** How well a reflector reaches the API server. */
export interface HealthStatus {
  /** A watch is open. */
  readonly connected: boolean;
  /** Why the last attempt failed; undefined after a success. */
  readonly error: WrapperError | undefined;
  /** Attempts that failed since the last success. */
  readonly failures: number;
  /** When the API server last answered this query, in milliseconds since the epoch; 0: never. */
  readonly lastContact: number;
  /** How long ago that was, in milliseconds, by a clock that does not jump; Infinity: never. */
  readonly silentMs: number;
  /**
   * For how long changes may have been missed, in milliseconds: since the last useful watch ended or a list
   * arrived; 0 while a watch is open.
   */
  readonly staleMs: number;
}

/**
 * The watch and whether it can be trusted. A watch that brought unusable data, or ended immediately, makes the
 * next ones suspect: that they open proves nothing.
 */
type Link = 'disconnected' | 'connected' | 'suspect' | 'probation';

const OPENED: Readonly<Record<Link, Link>> = {
  ...{ disconnected: 'connected', connected: 'connected' },
  ...{ suspect: 'probation', probation: 'probation' },
};
const CLOSED: Readonly<Record<Link, Link>> = {
  ...{ disconnected: 'disconnected', connected: 'disconnected' },
  ...{ suspect: 'suspect', probation: 'suspect' },
};

/** What failed in a row. */
interface Failures {
  readonly count: number;
  readonly last: WrapperError | undefined;
  /** Responses that could not be used, since the last useful one. */
  readonly unusable: number;
  /** Responses with 403, without another failure or an open watch between them. */
  readonly denials: number;
}

const NO_FAILURES: Failures = { count: 0, last: undefined, unusable: 0, denials: 0 };
/** So many 403 in a row are final: an API server that starts answers 403 until its RBAC has loaded. */
const DENIALS = 3;
/** After so many unusable responses in a row … */
const UNUSABLE = 5;
/** … the next request waits for this long, in milliseconds: each response may be a whole list. */
const UNUSABLE_MS = 60_000;
/** A longer Retry-After is cut to this, in milliseconds. */
const MAX_RETRY_AFTER_MS = 30_000;

/**
 * Connection, failures and last contact of one reflector, and the back-off that follows from them.
 *
 *                    opened                   progressed
 *     disconnected ──────────▶ connected ◀───────────────── probation
 *          ▲  ▲                 │   │                         │    ▲
 *          │  └──── closed ─────┘   │ unusable data,          │    │ opened
 *          │                        │ ended immediately       │    │
 *          │     progressed         ▼                 closed  ▼    │
 *          └───────────────────── suspect ◀────────────────────────┘
 */
export class ReflectorHealth {
  readonly #backoff;
  readonly #log: Logger;
  #link: Link = 'disconnected';
  #failures = NO_FAILURES;
  /** When the API server last answered; `at` is monotonic. */
  #contact = { at: Number.NEGATIVE_INFINITY, epoch: 0 };
  /** When the objects were last certain to be up to date; monotonic. */
  #currentAt = Number.NEGATIVE_INFINITY;

  constructor(options: { readonly logger: Logger; readonly random?: (() => number) | undefined }) {
    const { logger, random } = options;
    this.#backoff = createBackoff(random === undefined ? {} : { random });
    this.#log = logger;
  }

  get status(): HealthStatus {
    const now = performance.now();
    return {
      connected: this.#isOpen,
      error: this.#failures.last,
      failures: this.#failures.count,
      lastContact: this.#contact.epoch,
      silentMs: now - this.#contact.at,
      staleMs: this.#isOpen ? 0 : now - this.#currentAt,
    };
  }

  /** Whether more than one response in a row could not be used: the same bytes may come again. */
  get needsList(): boolean {
    return this.#failures.unusable > 1;
  }

  /** Whether the last failure was the 403 that makes the denial final. */
  get isDenied(): boolean {
    return this.#failures.denials === DENIALS;
  }

  /** The API server has answered. */
  answered(): void {
    this.#contact = { at: performance.now(), epoch: Date.now() };
  }

  /** A list has arrived and was used. */
  listed(): void {
    this.answered();
    this.#noteCurrent();
  }

  /** A watch is open. */
  opened(): void {
    this.answered();
    this.#link = OPENED[this.#link];
    this.#failures = { ...this.#failures, denials: 0 };
    if (this.#link === 'connected') this.#recovered();
  }

  /** A watch brought something useful: the next failure is a new one. */
  progressed(): void {
    this.#backoff.reset();
    this.#failures = { ...this.#failures, unusable: 0 };
    if (!this.#isSuspect) return;
    this.#link = this.#isOpen ? 'connected' : 'disconnected';
    this.#recovered();
  }

  /** A watch has ended. */
  closed(): void {
    if (this.#isOpen) this.#noteCurrent();
    this.#link = CLOSED[this.#link];
  }

  /** A watch ended immediately and brought nothing. */
  endedImmediately(): void {
    this.#link = 'suspect';
  }

  /** A request failed, or a watch ended with an error. Returns how long to wait, in milliseconds. */
  failed(error: WrapperError): number {
    const { count, last, unusable, denials } = this.#failures;
    if (count === 0 || causeOf(last) !== causeOf(error)) {
      this.#log.warn({ err: error.message, code: error.code, offset: error.offset }, 'interrupted');
    }
    const wasOpen = this.#isOpen;
    this.closed();
    if (wasOpen && error.code !== 'Unreachable') this.#link = 'suspect';
    this.#failures = {
      count: count + 1,
      last: error,
      unusable: isUnusable(error) ? unusable + 1 : unusable,
      denials: error.status?.code === 403 ? denials + 1 : 0,
    };
    return this.#wait(error);
  }

  #wait(error: WrapperError): number {
    // The API server answers, so that this wait is not part of an outage.
    if (isTooLargeVersion(error)) this.#backoff.reset();
    if (this.#failures.unusable > UNUSABLE) return UNUSABLE_MS;
    const retryAfter = (error.status?.retryAfterSeconds ?? 0) * 1000;
    return Math.max(this.#backoff.next(), Math.min(retryAfter, MAX_RETRY_AFTER_MS));
  }

  #recovered(): void {
    const { count } = this.#failures;
    if (count > 0) this.#log.info({ failures: count }, 'connected again');
    this.#failures = { ...this.#failures, count: 0, last: undefined };
  }

  /** Nothing was missed until now. In a row of suspect watches only the first was of any use. */
  #noteCurrent(): void {
    if (!this.#isSuspect) this.#currentAt = performance.now();
  }

  get #isOpen(): boolean {
    return this.#link === 'connected' || this.#link === 'probation';
  }

  get #isSuspect(): boolean {
    return this.#link === 'suspect' || this.#link === 'probation';
  }
}

/** Whether bytes arrived that cannot be used. */
export function isUnusable({ code }: WrapperError): boolean {
  return code === 'Malformed' || code === 'TooLarge';
}
