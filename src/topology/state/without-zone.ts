import type { EndpointGroup } from '../decide/endpoint.ts';

/** Whether any of these endpoints names a node but no zone. */
export function hasEndpointWithoutZone(groups: readonly EndpointGroup[]): boolean {
  return groups.some(({ endpoints }) => {
    return endpoints.some(({ node, zone }) => node !== '' && zone === '');
  });
}

/**
 * Services with an endpoint that names a node but no zone, by the view that reported them. For these Services, and
 * for no others, the zone key needs the nodes of the zone.
 */
export class ServicesWithoutZone {
  /** There are few views, and there may be many Services. */
  readonly #byView = new Map<object, Set<string>>();

  /** Whether any view reported this Service. */
  has(service: string): boolean {
    for (const reported of this.#byView.values()) if (reported.has(service)) return true;
    return false;
  }

  /** Whether any view reported any of these Services. */
  hasAnyOf(services: ReadonlySet<string>): boolean {
    for (const reported of this.#byView.values()) {
      if (!services.isDisjointFrom(reported)) return true;
    }
    return false;
  }

  /** Takes the report of a view. Returns whether it changed anything. */
  set(view: object, services: ReadonlyMap<string, boolean>): boolean {
    const reported = this.#byView.get(view) ?? new Set<string>();
    let changed = false;
    for (const [service, withoutZone] of services) {
      if (reported.has(service) === withoutZone) continue;
      changed = true;
      if (withoutZone) reported.add(service);
      else reported.delete(service);
    }
    if (reported.size > 0) this.#byView.set(view, reported);
    else this.#byView.delete(view);
    return changed;
  }
}
