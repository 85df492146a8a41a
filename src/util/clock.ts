/** The time, passed in so that tests can control it. */
export interface Clock {
  /** The time of a monotonic clock in milliseconds. */
  now(): number;
  /** Calls the callback once after this many milliseconds; returns how to cancel that. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The machine's monotonic clock. It is independent of the time of day. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs).unref();
    return () => clearTimeout(timer);
  },
};
