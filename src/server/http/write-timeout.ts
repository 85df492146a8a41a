import type { ServerResponse } from 'node:http';

/** The default of listeners, in milliseconds. */
export const WRITE_TIMEOUT_MS = 60_000;

/** How long a client may take to read what was written to it. */
export interface WriteTimeout {
  /** A client that reads nothing for this long is disconnected, in milliseconds. */
  readonly writeTimeoutMs: number;
  /** Called when that happens. */
  readonly onTimeout?: () => void;
}

/** Destroys the response after the timeout. Clear the timer when the client reads, and when the response ends. */
export function startWriteTimeout(
  response: ServerResponse,
  { writeTimeoutMs, onTimeout }: WriteTimeout,
): NodeJS.Timeout {
  return setTimeout(() => {
    onTimeout?.();
    response.destroy();
  }, writeTimeoutMs);
}
