import { type ErrorStatus, WrapperError } from '../../errors.ts';

export interface CallerLimitsOptions {
  /** What is limited, in the plural, for messages. */
  readonly what: string;
  /** Maximum number of concurrent requests of all callers. */
  readonly maxRequests: number;
  /** The same for one caller. */
  readonly maxPerCaller: number;
  /** Answer to one request more; default: 429, after which a client sends it again. */
  readonly refusal?: ErrorStatus;
}

/** client-go sends the request again. */
export const TOO_MANY_REQUESTS = { code: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 };

/** Limits concurrent requests, per caller and in total. */
export class CallerLimits {
  /** Number of requests refused since the start, by the limit that was reached. */
  readonly refused = { listener: 0, caller: 0 };
  readonly #options: CallerLimitsOptions;
  /** Number of requests by the id of the caller; only callers with a request are in it. */
  readonly #active = new Map<string, number>();
  #total = 0;

  constructor(options: CallerLimitsOptions) {
    this.#options = options;
  }

  /** Number of active requests. */
  get active(): number {
    return this.#total;
  }

  /**
   * Counts a request until the returned function is called; further calls have no effect. Throws `LimitExceeded`
   * if a limit is reached.
   */
  enter(callerId: string): () => void {
    const { maxRequests, maxPerCaller } = this.#options;
    const active = this.#active.get(callerId) ?? 0;
    if (active >= maxPerCaller) {
      this.refused.caller++;
      throw this.#tooMany(maxPerCaller, 'this caller');
    }
    if (this.#total >= maxRequests) {
      this.refused.listener++;
      throw this.#tooMany(maxRequests, 'all callers');
    }
    this.#add(callerId, 1);
    let isOver = false;
    return () => {
      if (!isOver) this.#add(callerId, -1);
      isOver = true;
    };
  }

  #add(callerId: string, change: 1 | -1): void {
    this.#total += change;
    const active = (this.#active.get(callerId) ?? 0) + change;
    if (active === 0) this.#active.delete(callerId);
    else this.#active.set(callerId, active);
  }

  /** client-go waits for Retry-After and sends the request again, ten times at most (rest/with_retry.go). */
  #tooMany(max: number, whose: string): WrapperError {
    const text = `${max} ${this.#options.what} of ${whose} are active already`;
    const { refusal: status = TOO_MANY_REQUESTS } = this.#options;
    return new WrapperError('LimitExceeded', text, { status });
  }
}
