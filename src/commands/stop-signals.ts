/** Abort signals for SIGTERM and SIGINT, and the handler of SIGHUP. */
export interface StopSignals {
  /** Aborts at the first SIGTERM or SIGINT. */
  readonly stop: AbortSignal;
  /** Aborts at SIGINT and at a second SIGTERM: do not wait for the next process. */
  readonly now: AbortSignal;
  /** Sets the handler of SIGHUP. It is called immediately if SIGHUP arrived before. */
  onHangup(handler: () => void): void;
}

/**
 * Starts to listen for SIGTERM, SIGINT and SIGHUP. Call it before anything else: in the image the process is number 1, and the
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
  let hasHungUp = false;
  let handleHangup = (): void => {
    hasHungUp = true;
  };
  process.on('SIGHUP', () => handleHangup());
  const onHangup = (handler: () => void): void => {
    handleHangup = handler;
    if (hasHungUp) handler();
  };
  return { stop: stop.signal, now: now.signal, onHangup };
}
