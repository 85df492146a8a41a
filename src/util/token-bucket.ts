export interface TokenBucketOptions {
  /** Number of tokens at the start, which is also the maximum. */
  readonly burst: number;
  /** Time until one token is added, in milliseconds. */
  readonly refillMs: number;
  /** A monotonic clock in milliseconds; default: `performance.now`. */
  readonly now?: () => number;
}

/** Limits a rate: a burst at first, then an even rate. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  readonly #now: () => number;
  /** When the bucket is full again, in milliseconds. Fractions of tokens would be rounded; times are not. */
  #fullAt = -Infinity;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Takes a token and returns 0. If there is none, returns the milliseconds until there is one. */
  take(): number {
    const waitMs = this.waitMs;
    if (waitMs > 0) return waitMs;
    this.#fullAt = this.#nextFullAt;
    return 0;
  }

  /** Milliseconds until there is a token; 0: there is one. */
  get waitMs(): number {
    const { burst, refillMs } = this.#options;
    return Math.max(0, this.#nextFullAt - burst * refillMs - this.#now());
  }

  /** When the bucket would be full again after one more token was taken. */
  get #nextFullAt(): number {
    return Math.max(this.#fullAt, this.#now()) + this.#options.refillMs;
  }
}
