import type { ServerResponse } from 'node:http';

/** How much patience there is with a client that takes nothing of an answer. */
export interface WriteTimeout {
  /** A client that takes nothing for this long is given up, in milliseconds. */
  readonly stallMs: number;
  /** Called when that happens. */
  readonly onStalled?: (() => void) | undefined;
}

/** Gives the client up after its time; to be cleared when it takes something, and when the answer ends. */
export function giveUpLater(
  response: ServerResponse,
  { stallMs, onStalled }: WriteTimeout,
): NodeJS.Timeout {
  return setTimeout(() => {
    onStalled?.();
    response.destroy();
  }, stallMs);
}
