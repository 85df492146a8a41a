import type { EndpointGroup } from '../decide/endpoint.ts';

/** Whether any of these endpoints names a node but no zone. */
export function hasEndpointWithoutZone(groups: readonly EndpointGroup[]): boolean {
  return groups.some(({ endpoints }) => {
    return endpoints.some(({ node, zone }) => node !== '' && zone === '');
  });
}

/**
 * Services with an endpoint that names a node but no zone, by the view that has seen it: for these the zone key
 * needs the nodes of the zone.
 */
export class ServicesWithoutZone {
  /** There are few views, and maybe many Services. */
  readonly #byView = new Map<object, Set<string>>();

  /** Whether any of these Services is one. */
  hasAnyOf(services: ReadonlySet<string>): boolean {
    for (const zoneless of this.#byView.values()) {
      const [fewer, more] =
        services.size < zoneless.size ? [services, zoneless] : [zoneless, services];
      for (const service of fewer) if (more.has(service)) return true;
    }
    return false;
  }

  /** Notes what a view has seen; returns whether that was news. */
  set(view: object, services: Iterable<readonly [service: string, zoneless: boolean]>): boolean {
    const known = this.#byView.get(view) ?? new Set<string>();
    let changed = false;
    for (const [service, zoneless] of services) {
      if (known.has(service) === zoneless) continue;
      changed = true;
      if (zoneless) known.add(service);
      else known.delete(service);
    }
    if (known.size > 0) this.#byView.set(view, known);
    else this.#byView.delete(view);
    return changed;
  }
}
