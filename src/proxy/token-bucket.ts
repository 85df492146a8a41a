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
  #tokens: number;
  #filledAt: number;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#tokens = options.burst;
    this.#filledAt = this.#now();
  }

  /** Takes a token. Returns 0, or, when there is none, in how many milliseconds there will be one. */
  take(): number {
    const { burst, refillMs } = this.#options;
    const now = this.#now();
    this.#tokens = Math.min(burst, this.#tokens + (now - this.#filledAt) / refillMs);
    this.#filledAt = now;
    if (this.#tokens < 1) return (1 - this.#tokens) * refillMs;
    this.#tokens -= 1;
    return 0;
  }
}
