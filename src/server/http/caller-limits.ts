import { type ErrorStatus, WrapperError } from '../../errors.ts';

export interface CallerLimitsOptions {
  /** What is limited, in the plural, for messages. */
  readonly what: string;
  /** Maximum number of concurrent requests of all callers, or of their bytes. */
  readonly maxRequests: number;
  /** The same for one caller. */
  readonly maxPerCaller: number;
  /** The same for one token of a caller; default: as for the caller. */
  readonly maxPerToken?: number;
  /** Answer to one request more; default: 429, after which a client sends it again. */
  readonly refusal?: ErrorStatus;
}

/** For whom a request counts. */
export interface CountedCaller {
  /** Id of the user. */
  readonly user: string;
  /** Id of the token: each Pod of a user has its own. Absent: it is not known. */
  readonly token?: string;
}

/** client-go sends the request again. */
export const TOO_MANY_REQUESTS = { code: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 };

/** Limits concurrent requests, or their bytes: per token, per caller and in total. */
export class CallerLimits {
  /** Number of requests refused since the start, by the limit that was reached. */
  readonly refused = { listener: 0, caller: 0 };
  readonly #options: CallerLimitsOptions;
  readonly #ofUsers = new Usage();
  readonly #ofTokens = new Usage();
  #total = 0;
  #requests = 0;

  constructor(options: CallerLimitsOptions) {
    this.#options = options;
  }

  /** Number of active requests, or of their bytes. */
  get active(): number {
    return this.#total;
  }

  /** Number of active requests. */
  get requests(): number {
    return this.#requests;
  }

  /** Number of tokens that have active requests. */
  get tokens(): number {
    return this.#ofTokens.size;
  }

  /**
   * Counts a request until the returned function is called; further calls have no effect. Throws `LimitExceeded`
   * if a limit is reached.
   *
   * @param amount its bytes, of which no more count than one token may have: any request fits alone
   */
  enter({ user, token = '' }: CountedCaller, amount = 1): () => void {
    const { maxRequests, maxPerCaller, maxPerToken = maxPerCaller } = this.#options;
    const counted = Math.min(amount, maxRequests, maxPerCaller, maxPerToken);
    if (token !== '' && this.#ofTokens.used(token) + counted > maxPerToken) {
      this.refused.caller++;
      throw this.#tooMany(maxPerToken, 'this token');
    }
    if (this.#ofUsers.used(user) + counted > maxPerCaller) {
      this.refused.caller++;
      throw this.#tooMany(maxPerCaller, 'this caller');
    }
    if (this.#total + counted > maxRequests) {
      this.refused.listener++;
      throw this.#tooMany(maxRequests, 'all callers');
    }
    const add = (change: number): void => {
      this.#total += change;
      this.#ofUsers.add(user, change);
      if (token !== '') this.#ofTokens.add(token, change);
    };
    add(counted);
    this.#requests++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      add(-counted);
      this.#requests--;
    };
  }

  /** client-go waits for Retry-After and sends the request again, ten times at most (rest/with_retry.go). */
  #tooMany(max: number, whose: string): WrapperError {
    const text = `${max} ${this.#options.what} of ${whose} are active already`;
    const { refusal: status = TOO_MANY_REQUESTS } = this.#options;
    return new WrapperError('LimitExceeded', text, { status });
  }
}

/** What ids use now. Only those that use something are in memory. */
class Usage {
  readonly #used = new Map<string, number>();

  get size(): number {
    return this.#used.size;
  }

  used(id: string): number {
    return this.#used.get(id) ?? 0;
  }

  add(id: string, change: number): void {
    const used = this.used(id) + change;
    if (used === 0) this.#used.delete(id);
    else this.#used.set(id, used);
  }
}
