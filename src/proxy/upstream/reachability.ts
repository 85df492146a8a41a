import type { ResponseHeaders } from './upstream-body.ts';

/** Whether an answer is one to go by: with 5xx and 429 the API server may as well not be there. */
export function isUsableResponse(statusCode: number, headers: ResponseHeaders = {}): boolean {
  return !isServerFailure(statusCode, headers) && statusCode !== 429;
}

/**
 * Whether an answer is that of a server that does not work (5xx). A 504 that says when to ask again is not: an
 * API server that is behind the version asked for answers so (NewTooLargeResourceVersionError in apiserver
 * storage/errors.go), a gateway that has waited in vain does not.
 */
export function isServerFailure(statusCode: number, headers: ResponseHeaders): boolean {
  return statusCode >= 500 && !(statusCode === 504 && headers['retry-after'] !== undefined);
}

/** Whether the API server can be reached, as all requests together have found. Times are monotonic. */
export class Reachability {
  #heardAt = Number.NEGATIVE_INFINITY;
  #answered = false;
  #cutOff = false;

  /** Whether it ever gave an answer to go by, in the life of this process. */
  get answered(): boolean {
    return this.#answered;
  }

  /** Whether it was found out of reach, and has not answered since. */
  get cutOff(): boolean {
    return this.#cutOff;
  }

  /** When anything at all was last heard of it: part of an answer, or an accepted connection. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** Whether that was in the last `ms`. */
  heardWithin(ms: number): boolean {
    return performance.now() - this.#heardAt <= ms;
  }

  /** A connection was accepted, TLS and all. */
  noteConnected(): void {
    this.#heardAt = performance.now();
  }

  /** The headers of an answer came, or more of its body. @param toGoBy see {@link isUsableResponse} */
  noteAnswer(toGoBy: boolean): void {
    this.#heardAt = performance.now();
    if (!toGoBy) return;
    this.#answered = true;
    this.#cutOff = false;
  }

  /** Whoever waited for it long enough says so; the others need not wait as long again. */
  noteCutOff(): void {
    this.#cutOff = true;
  }
}
