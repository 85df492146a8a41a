export interface TokenBucketOptions {
  /** Tokens at the start, and at most. */
  readonly burst: number;
  /** One token is added in this time, in milliseconds. */
  readonly refillMs: number;
  /** A monotonic clock in milliseconds; default: `performance.now`. */
  readonly now?: () => number;
}

/** Limits how often something is done: a burst at first, and then at an even rate. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  readonly #now: () => number;
  /** When all tokens are there again, in milliseconds: no fractions of tokens, which would be rounded. */
  #fullAt = -Infinity;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Takes a token. Returns 0, or, when there is none, in how many milliseconds there will be one. */
  take(): number {
    const { burst, refillMs } = this.#options;
    const now = this.#now();
    const fullAt = Math.max(this.#fullAt, now) + refillMs;
    const waitMs = fullAt - burst * refillMs - now;
    if (waitMs > 0) return waitMs;
    this.#fullAt = fullAt;
    return 0;
  }
}
