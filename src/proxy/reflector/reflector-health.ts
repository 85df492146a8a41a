import type { WrapperError } from '../../errors.ts';
import type { Clock } from '../../util/clock.ts';
import type { LimitedLog } from '../../util/limited-log.ts';
import { OncePerCause } from '../../util/once-per-cause.ts';
import { causeOf } from '../upstream/upstream-error.ts';

/** How well a reflector reaches the API server. */
export interface HealthStatus {
  /** A watch is open. */
  readonly connected: boolean;
  /** Why the last attempt failed; undefined after a success. */
  readonly error: WrapperError | undefined;
  /** Attempts that failed since the last success. */
  readonly failures: number;
  /**
   * For how long changes may have been missed, in milliseconds: since the last useful watch ended or a list
   * arrived; 0 while a watch is open.
   */
  readonly staleMs: number;
}

/**
 * The watch and whether it can be trusted. A watch that brought unusable data, or ended without being of use, makes
 * the next ones suspect: that they open proves nothing.
 */
type Link = 'disconnected' | 'connected' | 'suspect' | 'probation';

const OPENED: Readonly<Record<Link, Link>> = {
  disconnected: 'connected',
  connected: 'connected',
  suspect: 'probation',
  probation: 'probation',
};
const CLOSED: Readonly<Record<Link, Link>> = {
  disconnected: 'disconnected',
  connected: 'disconnected',
  suspect: 'suspect',
  probation: 'suspect',
};

/** What failed since the last success. */
interface Failures {
  readonly count: number;
  readonly last: WrapperError | undefined;
}

const NO_FAILURES: Failures = { count: 0, last: undefined };

export interface ReflectorHealthOptions {
  /** Shared by all queries. */
  readonly log: LimitedLog;
  /** Names the query in the log. */
  readonly collection: string;
  readonly clock: Clock;
}

/**
 * Connection, failures and age of one reflector.
 *
 *                    opened                   progressed
 *     disconnected ──────────▶ connected ◀───────────────── probation
 *          ▲  ▲                 │   │                         │    ▲
 *          │  └──── closed ─────┘   │ unusable data, or       │    │ opened
 *          │                        │ ended without use       │    │
 *          │     progressed         ▼                 closed  ▼    │
 *          └───────────────────── suspect ◀────────────────────────┘
 */
export class ReflectorHealth {
  readonly #options: ReflectorHealthOptions;
  readonly #logged = new OncePerCause();
  #link: Link = 'disconnected';
  #failures = NO_FAILURES;
  /** When the objects were last certain to be up to date; monotonic. */
  #currentAt = Number.NEGATIVE_INFINITY;

  constructor(options: ReflectorHealthOptions) {
    this.#options = options;
  }

  get status(): HealthStatus {
    const now = this.#options.clock.now();
    return {
      connected: this.#isOpen,
      error: this.#failures.last,
      failures: this.#failures.count,
      staleMs: this.#isOpen ? 0 : now - this.#currentAt,
    };
  }

  /** A list, an event or a bookmark has arrived: nothing was missed until now. */
  current(): void {
    this.#currentAt = this.#options.clock.now();
  }

  /** A watch is open. */
  opened(): void {
    this.#link = OPENED[this.#link];
    if (this.#link === 'connected') this.#recovered();
  }

  /** A watch has been of use. */
  progressed(): void {
    if (!this.#isSuspect) return;
    this.#link = this.#isOpen ? 'connected' : 'disconnected';
    this.#recovered();
  }

  /**
   * A watch has ended.
   *
   * @param silentMs for how long its connection had brought nothing, and was found to be dead: changes of that time were
   * missed
   */
  closed(silentMs = 0): void {
    if (this.#link === 'connected') {
      this.#currentAt = Math.max(this.#currentAt, this.#options.clock.now() - silentMs);
    }
    this.#link = CLOSED[this.#link];
  }

  /**
   * A request failed, or a watch ended with an error.
   *
   * @param suspect the next watch proves nothing by opening
   * @param isLogged whether the log gets a line, once per cause
   */
  failed(error: WrapperError, { suspect = false, isLogged = true } = {}): void {
    this.closed(error.silentMs);
    if (suspect) this.#link = 'suspect';
    this.#failures = { count: this.#failures.count + 1, last: error };
    if (!isLogged || !this.#logged.fail(causeOf(error))) return;
    const { log, collection } = this.#options;
    const { message: err, code, offset } = error;
    log.warn({ collection, err, code, offset }, 'interrupted');
  }

  #recovered(): void {
    const { count: failures } = this.#failures;
    this.#failures = NO_FAILURES;
    if (!this.#logged.succeed()) return;
    const { log, collection } = this.#options;
    log.info({ collection, failures }, 'connected again');
  }

  get #isOpen(): boolean {
    return this.#link === 'connected' || this.#link === 'probation';
  }

  get #isSuspect(): boolean {
    return this.#link === 'suspect' || this.#link === 'probation';
  }
}
