import type { Endpoint, EndpointGroup } from '../../topology/decide/endpoint.ts';
import type { EndpointsFacts, ObjectBytes } from '../codec/codec.ts';

/** An EndpointSlice or Endpoints object of a view, with what is shown of it. */
export interface EndpointsObject {
  readonly key: string;
  /** `namespace/name` of its Service; undefined when it belongs to none. */
  readonly service: string | undefined;
  readonly hinted: boolean;
  readonly groups: readonly EndpointGroup[];
  /** As the API server gave it, but maybe for the resourceVersion. */
  raw: ObjectBytes;
  /** `raw` has not been looked at yet. */
  fresh: boolean;
  /** What is shown was made from `raw`, not from an earlier state that differs only in what is no change. */
  exact: boolean;
  /** Another object of this name, which is no more, is shown still; it leaves when this one is shown. */
  replaces: boolean;
  /** Bytes of what is shown, where it is other memory than `raw`; 0: it is the same. */
  copied: number;
  /** Endpoints that are shown, as in Edit.keep; undefined: all. */
  keep: Uint8Array | undefined;
  /** Whether hints are cut. */
  cutHints: boolean;
  /** Whether a policy says what is shown. */
  managed: boolean;
}

/** The objects of a view by key, by Service, and the Services by the nodes their endpoints are on. */
export class EndpointIndex {
  readonly #objects = new Map<string, EndpointsObject>();
  /** Lists that are never changed: most Services have one object, for which a Set costs 240 bytes. */
  readonly #byService = new Map<string, readonly EndpointsObject[]>();
  /** Node → Services with an endpoint there. */
  readonly #byNode = new Map<string, Set<string>>();
  /** Slices differ in a few ports; endpoints come interned, see EndpointsFacts. */
  readonly #ports = new Interner<readonly string[]>();

  get(key: string): EndpointsObject | undefined {
    return this.#objects.get(key);
  }

  services(): IterableIterator<string> {
    return this.#byService.keys();
  }

  objects(): IterableIterator<EndpointsObject> {
    return this.#objects.values();
  }

  ofService(service: string): readonly EndpointsObject[] {
    return this.#byService.get(service) ?? NONE;
  }

  /** Services with an endpoint on a node. */
  servicesOn(node: string): Iterable<string> {
    return this.#byNode.get(node) ?? [];
  }

  add(key: string, facts: EndpointsFacts, raw: ObjectBytes): EndpointsObject {
    const object: EndpointsObject = {
      key,
      service: serviceOf(facts),
      hinted: facts.hinted,
      groups: this.#internGroups(facts.groups),
      raw,
      fresh: true,
      exact: false,
      replaces: false,
      copied: 0,
      keep: undefined,
      cutHints: false,
      managed: false,
    };
    this.#objects.set(key, object);
    if (object.service === undefined) return object;
    this.#byService.set(object.service, [...this.ofService(object.service), object]);
    for (const node of nodesOf(object)) {
      const services = this.#byNode.get(node);
      if (services === undefined) this.#byNode.set(node, new Set([object.service]));
      else services.add(object.service);
    }
    return object;
  }

  /**
   * Takes in the new bytes of an object of which a decision sees nothing new: most changes are such. Returns
   * false, and has done nothing, when it does.
   */
  refresh(object: EndpointsObject, facts: EndpointsFacts, raw: ObjectBytes): boolean {
    if (object.hinted !== facts.hinted || object.service !== serviceOf(facts)) return false;
    if (!sameItems(object.groups, facts.groups, sameGroup)) return false;
    object.raw = raw;
    object.fresh = true;
    return true;
  }

  remove(object: EndpointsObject): void {
    this.#objects.delete(object.key);
    if (object.service === undefined) return;
    const others = this.ofService(object.service).filter((sibling) => sibling !== object);
    if (others.length === 0) this.#byService.delete(object.service);
    else this.#byService.set(object.service, others);
    for (const node of nodesWithout(object, others)) {
      const services = this.#byNode.get(node);
      services?.delete(object.service);
      if (services?.size === 0) this.#byNode.delete(node);
    }
  }

  #internGroups(groups: readonly EndpointGroup[]): readonly EndpointGroup[] {
    return groups.map(({ ports, endpoints }) => ({
      ports: this.#ports.of(ports.join('\n'), () => ports),
      endpoints,
    }));
  }
}

/** Keeps equal things once. */
export class Interner<T> {
  readonly #known = new Map<string, T>();

  of(id: string, make: () => T): T {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    // Names of nodes and zones that are long gone may pile up over months; starting over costs little.
    if (this.#known.size >= 50_000) this.#known.clear();
    const made = make();
    this.#known.set(id, made);
    return made;
  }
}

function serviceOf({ namespace, service }: EndpointsFacts): string | undefined {
  return service === '' ? undefined : `${namespace}/${service}`;
}

function sameGroup(a: EndpointGroup, b: EndpointGroup): boolean {
  return (
    sameItems(a.ports, b.ports, (one, other) => one === other) &&
    sameItems(a.endpoints, b.endpoints, sameEndpoint)
  );
}

/** Equal endpoints are one object, unless the cache that sees to that has started over in between. */
function sameEndpoint(a: Endpoint, b: Endpoint): boolean {
  if (a === b) return true;
  return a.node === b.node && a.state === b.state && a.zone === b.zone && a.family === b.family;
}

function sameItems<T>(a: readonly T[], b: readonly T[], same: (a: T, b: T) => boolean): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!same(a[i] as T, b[i] as T)) return false;
  return true;
}

const NONE: readonly EndpointsObject[] = [];

/** Nodes of an object that none of its siblings has an endpoint on. */
function nodesWithout(object: EndpointsObject, siblings: readonly EndpointsObject[]): Set<string> {
  const nodes = nodesOf(object);
  for (const { groups } of siblings) {
    if (nodes.size === 0) break;
    for (const { endpoints } of groups) for (const { node } of endpoints) nodes.delete(node);
  }
  return nodes;
}

function nodesOf(object: EndpointsObject): Set<string> {
  const nodes = new Set<string>();
  for (const { endpoints } of object.groups) {
    for (const { node } of endpoints) if (node !== '') nodes.add(node);
  }
  return nodes;
}
