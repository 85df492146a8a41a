import type { Logger } from 'pino';

/** Why a query's state is not on disk. */
interface Problem {
  /** The code, or else the message: a message may name a file that has another name each time. */
  readonly cause: string;
  readonly message: string;
}

/** Writes that fail, logged once per cause until all succeed again. */
export class WriteProblems {
  readonly #problems = new Map<string, Problem>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** One of the problems; undefined: the state of every query can be written. */
  get message(): string | undefined {
    const [problem] = this.#problems.values();
    return problem?.message;
  }

  /**
   * @param isOpen whether the query is still open: no later write would resolve the problem of a closed one
   * @param isSilent whether the cause has been logged elsewhere
   */
  add(
    query: string,
    { code, message }: NodeJS.ErrnoException,
    { isOpen, isSilent }: { readonly isOpen: boolean; readonly isSilent: boolean },
  ): void {
    const cause = code ?? message;
    const isKnown = [...this.#problems.values()].some((each) => each.cause === cause);
    if (isOpen) this.#problems.set(query, { cause, message });
    if (isKnown || isSilent) return;
    const text = 'a snapshot cannot be written, the one before is kept (stateDir)';
    this.#logger.error({ query, err: message }, text);
  }

  /** The state of a query was written. */
  resolve(query: string): void {
    const had = this.#problems.delete(query);
    if (!had || this.#problems.size > 0) return;
    this.#logger.info('all snapshots can be written again (stateDir)');
  }

  /** A query was closed. */
  forget(query: string): void {
    this.#problems.delete(query);
  }
}
