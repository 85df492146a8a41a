/** Whether an answer is one to go by: with 5xx and 429 the API server may as well not be there. */
export function isAnswer(statusCode: number): boolean {
  return statusCode < 500 && statusCode !== 429;
}

/** Whether the API server can be reached, as all requests together have found. Times are monotonic. */
export class Reach {
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

  /** Whether anything at all was heard of it in the last `ms`: an answer, or an accepted connection. */
  heardWithin(ms: number): boolean {
    return performance.now() - this.#heardAt <= ms;
  }

  /** A connection was accepted, TLS and all. */
  noteConnected(): void {
    this.#heardAt = performance.now();
  }

  /** The headers of an answer came. */
  noteAnswer(statusCode: number): void {
    this.#heardAt = performance.now();
    if (!isAnswer(statusCode)) return;
    this.#answered = true;
    this.#cutOff = false;
  }

  /** Whoever waited for it long enough says so; the others need not wait as long again. */
  noteCutOff(): void {
    this.#cutOff = true;
  }
}
