/** The Services that this node hides because all their traffic goes to the cloud. */
export class CloudOnlyServices {
  readonly #services = new Set<string>();
  #known = false;

  /** Whether {@link set} was called: from then on the set is complete. */
  get known(): boolean {
    return this.#known;
  }

  get size(): number {
    return this.#services.size;
  }

  has(service: string): boolean {
    return this.#services.has(service);
  }

  /** Sets which of these Services are hidden; the first call names all that are. */
  set(services: ReadonlyMap<string, boolean>): void {
    this.#known = true;
    for (const [service, hidden] of services) {
      if (hidden) this.#services.add(service);
      else this.#services.delete(service);
    }
  }
}
