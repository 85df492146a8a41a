/** Services to be decided again, each with the keys of its objects that no longer exist and are still shown. */
export class AffectedServices {
  readonly #removed = new Map<string, Set<string>>();

  add(service: string): void {
    if (!this.#removed.has(service)) this.#removed.set(service, new Set());
  }

  /** Adds a Service, one of whose objects no longer exists and is still shown. */
  addRemoved(service: string, key: string): void {
    this.add(service);
    this.#removed.get(service)?.add(key);
  }

  has(service: string): boolean {
    return this.#removed.has(service);
  }

  services(): IterableIterator<string> {
    return this.#removed.keys();
  }

  [Symbol.iterator](): IterableIterator<[service: string, removed: ReadonlySet<string>]> {
    return this.#removed.entries();
  }
}
