/** Decides which failures of one operation are logged: the first one of each cause, until the operation succeeds. */
export class OncePerCause {
  #cause: string | undefined;

  /** Cause of the last failure; undefined after a success. */
  get cause(): string | undefined {
    return this.#cause;
  }

  /** Records a failure. Returns whether its cause is a new one: then it should be logged. */
  fail(cause: string): boolean {
    const isNew = cause !== this.#cause;
    this.#cause = cause;
    return isNew;
  }

  /** Records a success. Returns whether it ends a failure. */
  succeed(): boolean {
    const isOver = this.#cause !== undefined;
    this.#cause = undefined;
    return isOver;
  }
}
