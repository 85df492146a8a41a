export interface ExpiringNamesOptions {
  /** Names at most; one more takes the place of the one that was used longest ago. */
  readonly max: number;
  /** How long a name is remembered after its last use, in milliseconds. */
  readonly ttlMs: number;
  /** A monotonic clock in milliseconds; default: `performance.now`. */
  readonly now?: () => number;
}

/** A bounded set of names, each of which is forgotten some time after its last use. */
export class ExpiringNames {
  readonly #options: ExpiringNamesOptions;
  readonly #now: () => number;
  /** When each was last used; the longest ago comes first. */
  readonly #usedAt = new Map<string, number>();

  constructor(options: ExpiringNamesOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  add(name: string): void {
    this.#usedAt.delete(name);
    this.#usedAt.set(name, this.#now());
    if (this.#usedAt.size <= this.#options.max) return;
    for (const oldest of this.#usedAt.keys()) {
      this.#usedAt.delete(oldest);
      return;
    }
  }

  /** Whether a name is remembered; then it is used now. */
  use(name: string): boolean {
    const usedAt = this.#usedAt.get(name);
    if (usedAt === undefined) return false;
    this.#usedAt.delete(name);
    if (this.#now() - usedAt >= this.#options.ttlMs) return false;
    this.add(name);
    return true;
  }
}
