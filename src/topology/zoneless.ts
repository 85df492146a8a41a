/**
 * Services with an endpoint that names a node but no zone, by the view that has seen it: of these the zone
 * key has to know the nodes of the zone.
 */
export class ZonelessServices {
  readonly #views = new Map<string, Set<object>>();

  has(service: string): boolean {
    return this.#views.has(service);
  }

  /** Whether any of these Services is one. */
  hasAnyOf(services: ReadonlySet<string>): boolean {
    const [fewer, more] =
      services.size < this.#views.size ? [services, this.#views] : [this.#views, services];
    for (const service of fewer.keys()) if (more.has(service)) return true;
    return false;
  }

  /** Notes what a view has seen; returns the Services for which that was news. */
  set(view: object, services: Iterable<readonly [service: string, zoneless: boolean]>): string[] {
    const changed: string[] = [];
    for (const [service, zoneless] of services) {
      const views = this.#views.get(service);
      if ((views?.has(view) ?? false) === zoneless) continue;
      changed.push(service);
      if (zoneless) {
        this.#views.set(service, (views ?? new Set()).add(view));
      } else {
        views?.delete(view);
        if (views?.size === 0) this.#views.delete(service);
      }
    }
    return changed;
  }
}
