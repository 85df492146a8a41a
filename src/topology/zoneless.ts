import type { EndpointGroup } from './endpoint.ts';

/** Whether any of these endpoints names a node but no zone. */
export function hasZoneless(groups: readonly EndpointGroup[]): boolean {
  return groups.some(({ endpoints }) => {
    return endpoints.some(({ node, zone }) => node !== '' && zone === '');
  });
}

/**
 * Services with an endpoint that names a node but no zone, by the view that has seen it: of these the zone
 * key has to know the nodes of the zone.
 */
export class ZonelessServices {
  /** There are few views, and maybe many Services. */
  readonly #byView = new Map<object, Set<string>>();

  has(service: string): boolean {
    for (const services of this.#byView.values()) if (services.has(service)) return true;
    return false;
  }

  /** Whether any of these Services is one. */
  hasAnyOf(services: ReadonlySet<string>): boolean {
    for (const zoneless of this.#byView.values()) {
      const [fewer, more] =
        services.size < zoneless.size ? [services, zoneless] : [zoneless, services];
      for (const service of fewer) if (more.has(service)) return true;
    }
    return false;
  }

  /** Notes what a view has seen; returns the Services for which that was news. */
  set(view: object, services: Iterable<readonly [service: string, zoneless: boolean]>): string[] {
    const known = this.#byView.get(view) ?? new Set<string>();
    const changed: string[] = [];
    for (const [service, zoneless] of services) {
      if (known.has(service) === zoneless) continue;
      changed.push(service);
      if (zoneless) known.add(service);
      else known.delete(service);
    }
    if (known.size > 0) this.#byView.set(view, known);
    else this.#byView.delete(view);
    return changed;
  }
}
