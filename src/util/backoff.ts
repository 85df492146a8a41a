/** Delays between attempts, in milliseconds. */
export interface Backoff {
  /** The next delay. It doubles each time up to the maximum; then up to half of it is removed at random. */
  next(): number;
  /** Starts again with the first delay, after an attempt that succeeded. */
  reset(): void;
}

export interface BackoffOptions {
  /** First delay in milliseconds before jitter. Default 200, so that one retry is hardly noticed. */
  readonly baseMs?: number;
  /** Upper bound in milliseconds. Default 30,000, as in client-go. */
  readonly maxMs?: number;
  /** Source of randomness in [0, 1), so that the nodes of a cluster do not retry in step. */
  readonly random?: () => number;
}

export function createBackoff(options: BackoffOptions = {}): Backoff {
  const { baseMs = 200, maxMs = 30_000, random = Math.random } = options;
  let delay = baseMs;
  return {
    next() {
      const current = delay;
      delay = Math.min(maxMs, delay * 2);
      return current * (0.5 + 0.5 * random());
    },
    reset() {
      delay = baseMs;
    },
  };
}
