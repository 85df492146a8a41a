import { bugText, type WrapperError } from '../../errors.ts';
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

const CONSEQUENCE = 'what is known remains, and the request is repeated';
const NO_FAILURES = { failures: 0, error: undefined };

/**
 * Connection, failures and age of one reflector.
 *
 * A watch may bring unusable data, or end without being of use. After it, opening a watch no longer counts as success:
 * only an event, a list, or a watch that stays open for a while does. The objects are as old as the end of any
 * watch that was open for a second: a load balancer may close each one.
 */
export class ReflectorHealth {
  readonly #log: LimitedLog;
  readonly #collection: string;
  readonly #clock: Clock;
  readonly #logged = new OncePerCause();
  #isOpen = false;
  #isSuspect = false;
  /** The open watch has brought all that there was when it began. */
  #isProven = false;
  /** What failed since the last success. */
  #failures: Pick<HealthStatus, 'failures' | 'error'> = NO_FAILURES;
  /** When the objects were last certain to be up to date; monotonic. */
  #currentAt = Number.NEGATIVE_INFINITY;

  /**
   * @param log shared by all queries
   * @param collection names the query in the log
   */
  constructor(log: LimitedLog, collection: string, clock: Clock) {
    this.#log = log;
    this.#collection = collection;
    this.#clock = clock;
  }

  get status(): HealthStatus {
    const staleMs = this.#isOpen ? 0 : this.#clock.now() - this.#currentAt;
    return { connected: this.#isOpen, ...this.#failures, staleMs };
  }

  /** A list, an event or a bookmark has arrived: nothing was missed until now. */
  current(): void {
    this.#currentAt = this.#clock.now();
  }

  /** A watch is open. */
  opened(): void {
    this.#isOpen = true;
    this.#isProven = false;
    if (!this.#isSuspect) this.#recovered();
  }

  /** The watch has been open long enough to bring what was missed. It may end without an event, as the next ones. */
  proven(): void {
    this.#isProven = true;
  }

  /** A watch has been of use. */
  progressed(): void {
    if (!this.#isSuspect) return;
    this.#isSuspect = false;
    this.#recovered();
  }

  /**
   * A watch has ended.
   *
   * @param silentMs for how long its connection had brought nothing, and was found to be dead: changes of that time
   * were missed
   */
  closed(silentMs = 0): void {
    if (this.#isOpen && (!this.#isSuspect || this.#isProven)) {
      this.#currentAt = Math.max(this.#currentAt, this.#clock.now() - silentMs);
    }
    this.#isOpen = false;
  }

  /**
   * A request failed, or a watch ended with an error.
   *
   * @param suspect the next watch proves nothing by opening
   * @param isLogged whether the log gets a line, once per cause
   */
  failed(error: WrapperError, { suspect = false, isLogged = true } = {}): void {
    this.closed(error.silentMs);
    if (suspect) this.#isSuspect = true;
    this.#failures = { failures: this.#failures.failures + 1, error };
    if (!isLogged || !this.#logged.fail(causeOf(error))) return;
    const { message: err, code, offset } = error;
    if (code === 'Internal') {
      const fields = { collection: this.#collection, err: error.cause };
      this.#log.write('error', fields, bugText(CONSEQUENCE));
      return;
    }
    const fields = { collection: this.#collection, err, code, offset };
    this.#log.warn(fields, `interrupted: ${CONSEQUENCE}`);
  }

  #recovered(): void {
    const { failures } = this.#failures;
    this.#failures = NO_FAILURES;
    if (!this.#logged.succeed()) return;
    this.#log.info({ collection: this.#collection, failures }, 'connected again');
  }
}
