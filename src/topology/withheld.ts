/**
 * Services that are hidden from this node because all their traffic is the cloud's. One view of slices
 * tells, those of Services follow.
 */
export class Withheld {
  readonly #services = new Set<string>();
  readonly #listeners = new Set<(services: readonly string[]) => void>();
  #known = false;

  /** Whether it has been told about all Services once. */
  get known(): boolean {
    return this.#known;
  }

  get size(): number {
    return this.#services.size;
  }

  has(service: string): boolean {
    return this.#services.has(service);
  }

  /** Calls back with the Services that became hidden or visible, and once all are known; returns how to end that. */
  subscribe(listener: (services: readonly string[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notes which of these Services are hidden now. From the first call on, all that are not named are visible. */
  set(services: ReadonlyMap<string, boolean>): void {
    const first = !this.#known;
    this.#known = true;
    const changed: string[] = [];
    for (const [service, hidden] of services) {
      if (this.#services.has(service) === hidden) continue;
      if (hidden) this.#services.add(service);
      else this.#services.delete(service);
      changed.push(service);
    }
    if (!first && changed.length === 0) return;
    for (const listener of this.#listeners) listener(changed);
  }
}
