/** Time as a projection needs it; passed in, so that tests can hold it still. */
export interface Clock {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Calls back once after this many milliseconds; returns how to cancel that. */
  after(delayMs: number, callback: () => void): () => void;
}
