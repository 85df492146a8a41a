/** Abort signals for SIGTERM and SIGINT. */
export interface StopSignals {
  /** Aborts at the first SIGTERM or SIGINT. */
  readonly stop: AbortSignal;
  /** Aborts at SIGINT and at a second SIGTERM: do not wait for the next process. */
  readonly now: AbortSignal;
}

/**
 * Starts to listen for SIGTERM and SIGINT. Call it before anything else: in the image the process is number 1, and the
 * kernel drops signals for which process 1 has no handler.
 */
export function listenForSignals(): StopSignals {
  const stop = new AbortController();
  const now = new AbortController();
  process.once('SIGTERM', () => {
    process.once('SIGTERM', () => now.abort());
    stop.abort();
  });
  process.once('SIGINT', () => {
    now.abort();
    stop.abort();
  });
  return { stop: stop.signal, now: now.signal };
}
