import type { ResponseHeaders } from './upstream-body.ts';

/** Whether a response is of use. 5xx and 429 are not: the API server may as well be away. */
export function isUsableResponse(statusCode: number, headers: ResponseHeaders = {}): boolean {
  return !isServerFailure(statusCode, headers) && statusCode !== 429;
}

/**
 * Whether a response shows that the server does not work (5xx). A 504 with Retry-After does not: that is the response
 * of an API server that is behind the requested version (NewTooLargeResourceVersionError in apiserver
 * storage/errors.go). A gateway that has timed out sends no Retry-After.
 */
export function isServerFailure(statusCode: number, headers: ResponseHeaders): boolean {
  return statusCode >= 500 && !(statusCode === 504 && headers['retry-after'] !== undefined);
}

/** Whether the API server can be reached, according to all requests together. Times are monotonic. */
export class Reachability {
  #heardAt = Number.NEGATIVE_INFINITY;
  #answered = false;
  #cutOff = false;

  /** Whether it has given a usable response in the life of this process. */
  get answered(): boolean {
    return this.#answered;
  }

  /** Whether it was found unreachable and has given no usable response since. */
  get unreachable(): boolean {
    return this.#cutOff;
  }

  /** Time of the last sign of it: part of a response, or an established connection. */
  get lastContactAt(): number {
    return this.#heardAt;
  }

  /** Whether the last sign of it is at most `ms` old. */
  hadContactWithin(ms: number): boolean {
    return performance.now() - this.#heardAt <= ms;
  }

  /** Records that a connection was established, TLS included. */
  noteConnected(): void {
    this.#heardAt = performance.now();
  }

  /** Records the headers of a response, or more of its body. @param isUsable see {@link isUsableResponse} */
  noteAnswer(isUsable: boolean): void {
    this.#heardAt = performance.now();
    if (!isUsable) return;
    this.#answered = true;
    this.#cutOff = false;
  }

  /** Records that it was waited for long enough. Others then wait for a shorter time. */
  noteUnreachable(): void {
    this.#cutOff = true;
  }
}
