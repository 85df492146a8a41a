/** The time, passed in so that tests can control it. */
export interface Clock {
  /** The time of a monotonic clock in milliseconds. */
  now(): number;
  /** Calls the callback once after this many milliseconds; returns how to cancel that. */
  after(delayMs: number, callback: () => void): () => void;
}
