/** Services whose traffic all goes to the cloud, as the one view of slices that decides about them reports. */
export class CloudOnlyServices {
  readonly #services = new Set<string>();
  #known = false;

  /** Whether all Services were reported once. */
  get known(): boolean {
    return this.#known;
  }

  get size(): number {
    return this.#services.size;
  }

  has(service: string): boolean {
    return this.#services.has(service);
  }

  /** Notes which of these Services are hidden now. From the first call on, all that are not named are visible. */
  set(services: ReadonlyMap<string, boolean>): void {
    this.#known = true;
    for (const [service, hidden] of services) {
      if (hidden) this.#services.add(service);
      else this.#services.delete(service);
    }
  }
}
