/** What is remembered for a caller: answers by question, each with when it came. */
interface Remembered<Answer> {
  readonly answer: Answer;
  /** In milliseconds of a monotonic clock. */
  readonly at: number;
}

/**
 * Answers of the API server, by caller and question. Bounded: the caller that was heard of least recently is
 * forgotten first, and of one caller the oldest answer, so that nobody pushes out another by asking much.
 */
export class DecisionCache<Answer> {
  readonly #maxCallers: number;
  readonly #maxAnswers: number;
  /** Least recently used first. */
  readonly #callers = new Map<string, Map<string, Remembered<Answer>>>();

  constructor(maxCallers: number, maxAnswers: number) {
    this.#maxCallers = maxCallers;
    this.#maxAnswers = maxAnswers;
  }

  /** Number of callers that are known. */
  get size(): number {
    return this.#callers.size;
  }

  has(caller: string): boolean {
    return this.#callers.has(caller);
  }

  get(caller: string, query: string): Remembered<Answer> | undefined {
    const answers = this.#callers.get(caller);
    if (answers === undefined) return undefined;
    this.#callers.delete(caller);
    this.#callers.set(caller, answers);
    return answers.get(query);
  }

  set(caller: string, query: string, answer: Answer, at: number): void {
    const answers = this.#callers.get(caller) ?? new Map<string, Remembered<Answer>>();
    this.#callers.delete(caller);
    this.#callers.set(caller, answers);
    answers.delete(query);
    answers.set(query, { answer, at });
    dropFirst(answers, this.#maxAnswers);
    dropFirst(this.#callers, this.#maxCallers);
  }

  forget(caller: string, query: string): void {
    const answers = this.#callers.get(caller);
    answers?.delete(query);
    if (answers?.size === 0) this.#callers.delete(caller);
  }

  forgetCaller(caller: string): void {
    this.#callers.delete(caller);
  }
}

function dropFirst(map: Map<string, unknown>, bound: number): void {
  for (const key of map.keys()) {
    if (map.size <= bound) return;
    map.delete(key);
  }
}
