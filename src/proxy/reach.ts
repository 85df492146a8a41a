/** The API server answered with this status or a higher one: it may as well not be there. */
const BROKEN = 500;

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

  /** The headers of an answer came. 429 is none to go by, as little as 5xx. */
  noteAnswer(statusCode: number): void {
    this.#heardAt = performance.now();
    if (statusCode >= BROKEN || statusCode === 429) return;
    this.#answered = true;
    this.#cutOff = false;
  }

  /** Whoever waited for it long enough says so; the others need not wait as long again. */
  noteCutOff(): void {
    this.#cutOff = true;
  }
}
