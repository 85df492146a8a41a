import type { ServerResponse } from 'node:http';

/** The code of a request whose client disconnected before the response began. */
const ABORTED = 'aborted';

/**
 * Counts the requests of all listeners by the status code of their response. Memory is bounded: there are three
 * listeners, and fewer than a thousand status codes.
 */
export class RequestCounter {
  readonly #counts = new Map<string, Map<string, number>>();

  /** Counts a request whose response has ended. A watch ends with its stream. */
  countEnded(listener: string, { headersSent, statusCode }: ServerResponse): void {
    // A refusal may be written to the socket itself, with the status in the response object.
    const isAnswered = headersSent || statusCode !== 200;
    this.count(listener, isAnswered ? statusCode : undefined);
  }

  /** @param code undefined: the client disconnected first */
  count(listener: string, code: number | undefined): void {
    const codes = this.#counts.get(listener) ?? new Map<string, number>();
    this.#counts.set(listener, codes);
    const name = code === undefined ? ABORTED : String(code);
    codes.set(name, (codes.get(name) ?? 0) + 1);
  }

  /** Number of requests since the start, by listener and code. */
  *counts(): Generator<{ listener: string; code: string; count: number }> {
    for (const [listener, codes] of this.#counts)
      for (const [code, count] of codes) yield { listener, code, count };
  }
}
