/** What the signals ask for. */
export interface StopSignals {
  /** Aborts at the first SIGTERM or SIGINT. */
  readonly stop: AbortSignal;
  /** Aborts at SIGINT, and at a second SIGTERM: no successor is to be waited for. */
  readonly now: AbortSignal;
}

/**
 * Listens for SIGTERM and SIGINT from now on. To be called first of all: in the image the process has number 1,
 * for which the kernel drops signals that nobody listens for.
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
