export interface ExpiringNamesOptions {
  /** Maximum number of names; a further one replaces the one used longest ago. */
  readonly max: number;
  /** How long a name is kept after its last use, in milliseconds. */
  readonly ttlMs: number;
  /** A monotonic clock in milliseconds; default: `performance.now`. */
  readonly now?: () => number;
}

/** A bounded set of names. Each one expires some time after its last use. */
export class ExpiringNames {
  readonly #options: ExpiringNamesOptions;
  readonly #now: () => number;
  /** Time of the last use by name; the oldest comes first. */
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

  /** Returns whether the set has a name, and records its use. */
  use(name: string): boolean {
    const usedAt = this.#usedAt.get(name);
    if (usedAt === undefined) return false;
    this.#usedAt.delete(name);
    if (this.#now() - usedAt >= this.#options.ttlMs) return false;
    this.add(name);
    return true;
  }
}
