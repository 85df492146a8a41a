interface CachedDecision<Decision> {
  readonly decision: Decision;
  /** When it was made, in milliseconds of a monotonic clock. */
  readonly at: number;
}

/**
 * Decisions of the API server, by caller and key. Memory is bounded: the cache evicts the caller that was used least
 * recently. If one caller has too many decisions, it evicts the oldest of them, so that no caller evicts another by
 * sending many requests.
 */
export class DecisionCache<Decision> {
  readonly #maxCallers: number;
  readonly #maxDecisions: number;
  /** Least recently used first. */
  readonly #callers = new Map<string, Map<string, CachedDecision<Decision>>>();

  /** @param maxDecisions per caller */
  constructor(maxCallers: number, maxDecisions: number) {
    this.#maxCallers = maxCallers;
    this.#maxDecisions = maxDecisions;
  }

  /** Number of callers in the cache. */
  get size(): number {
    return this.#callers.size;
  }

  has(caller: string): boolean {
    return this.#callers.has(caller);
  }

  get(caller: string, key: string): CachedDecision<Decision> | undefined {
    const decisions = this.#callers.get(caller);
    if (decisions === undefined) return undefined;
    this.#callers.delete(caller);
    this.#callers.set(caller, decisions);
    return decisions.get(key);
  }

  set(caller: string, key: string, decision: Decision, at: number): void {
    const decisions = this.#callers.get(caller) ?? new Map<string, CachedDecision<Decision>>();
    this.#callers.delete(caller);
    this.#callers.set(caller, decisions);
    decisions.delete(key);
    decisions.set(key, { decision, at });
    dropFirst(decisions, this.#maxDecisions);
    dropFirst(this.#callers, this.#maxCallers);
  }

  delete(caller: string, key: string): void {
    const decisions = this.#callers.get(caller);
    decisions?.delete(key);
    if (decisions?.size === 0) this.#callers.delete(caller);
  }

  deleteCaller(caller: string): void {
    this.#callers.delete(caller);
  }
}

function dropFirst(map: Map<string, unknown>, max: number): void {
  for (const key of map.keys()) {
    if (map.size <= max) return;
    map.delete(key);
  }
}
