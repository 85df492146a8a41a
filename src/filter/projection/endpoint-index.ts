import type { EndpointGroup } from '../../topology/decide/endpoint.ts';
import { Interner } from '../../util/interner.ts';
import type { EndpointsFacts, ObjectBytes } from '../codec/codec.ts';
import type { FullGroup } from '../objects/endpoint-groups.ts';
import type { View } from '../view/view.ts';

/** How the view shows an object. */
export interface ShownEndpoints {
  /** Endpoints that are shown, as in Edit.keep; undefined: all. */
  readonly keep: Uint8Array | undefined;
  readonly cutHints: boolean;
  /** Whether a policy selected the endpoints that are shown. */
  readonly managed: boolean;
  /** Size in bytes of what is shown, if that is a copy; 0: it is the raw object itself. */
  readonly copied: number;
}

/** An EndpointSlice or Endpoints object: what is known of it, and how it is shown. */
export interface EndpointsObject {
  readonly key: string;
  /** `namespace/name` of its Service; undefined: it belongs to none. */
  readonly service: string | undefined;
  readonly hinted: boolean;
  readonly groups: readonly EndpointGroup[];
  /** Whether the view may show it; if not, decisions use it all the same. */
  readonly selected: boolean;
  /** Whether its labels leave it to another proxy, see EndpointsProjectionOptions. */
  readonly ofOtherProxy: boolean;
  /**
   * As the API server sent it, except that the resourceVersion may differ; undefined: the view shows exactly this. See
   * {@link rawOf}.
   */
  raw: ObjectBytes | undefined;
  /** Whether the raw bytes were not compared yet with what is shown. */
  isUncompared: boolean;
  /** Undefined: the view does not show it. It may still show a deleted object of this name. */
  shown: ShownEndpoints | undefined;
}

/** An object as the API server sent it; undefined: it is gone, or the view was closed. */
export function rawOf(
  { raw, key }: Pick<EndpointsObject, 'raw' | 'key'>,
  view: View,
): ObjectBytes | undefined {
  return raw ?? view.get(key);
}

/** Its groups with all that is read of them; none if {@link rawOf} has nothing. */
export function fullGroupsOf(
  object: Pick<EndpointsObject, 'raw' | 'key'>,
  view: View,
): readonly FullGroup[] {
  const raw = rawOf(object, view);
  return raw === undefined ? [] : view.codec.endpointGroups(view.resource, raw);
}

/** Indexes the objects of a view by key and by Service. */
export class EndpointIndex {
  readonly #objects = new Map<string, EndpointsObject>();
  /** Arrays: most Services have one object, and a Set of one takes 240 bytes. */
  readonly #byService = new Map<string, EndpointsObject[]>();
  /** Service → keys of objects that it has lost, and that clients still see. */
  readonly #retired = new Map<string, string[]>();
  /** There are few different lists of ports. Endpoints are interned already, see EndpointsFacts. */
  readonly #ports = new Interner<readonly string[]>();
  readonly #numbers = new Interner<readonly number[]>();

  get(key: string): EndpointsObject | undefined {
    return this.#objects.get(key);
  }

  services(): IterableIterator<string> {
    return this.#byService.keys();
  }

  /** The Services with their objects, as {@link ofService} returns them. */
  byService(): IterableIterator<[service: string, objects: readonly EndpointsObject[]]> {
    return this.#byService.entries();
  }

  objects(): IterableIterator<EndpointsObject> {
    return this.#objects.values();
  }

  /** The objects of a Service, sorted by key, so that a decision does not depend on the order of changes. */
  ofService(service: string): readonly EndpointsObject[] {
    return this.#byService.get(service) ?? NO_OBJECTS;
  }

  /** Adds an object that is not shown. */
  add(
    key: string,
    facts: EndpointsFacts,
    raw: ObjectBytes,
    { selected, ofOtherProxy }: Pick<EndpointsObject, 'selected' | 'ofOtherProxy'>,
  ): EndpointsObject {
    const service = serviceOf(facts);
    const object: EndpointsObject = {
      key,
      service,
      hinted: facts.hinted,
      groups: this.#internGroups(facts.groups),
      selected,
      ofOtherProxy,
      raw,
      isUncompared: true,
      shown: undefined,
    };
    this.#objects.set(key, object);
    if (service === undefined) return object;
    const siblings = this.#byService.get(service);
    if (siblings === undefined) this.#byService.set(service, [object]);
    else siblings.splice(placeOf(siblings, key), 0, object);
    return object;
  }

  /**
   * Stores the new bytes of an object if nothing changed that a decision uses: most changes are like this. Otherwise
   * does nothing and returns false.
   */
  refresh(
    object: EndpointsObject,
    facts: EndpointsFacts,
    raw: ObjectBytes,
    { selected, ofOtherProxy }: Pick<EndpointsObject, 'selected' | 'ofOtherProxy'>,
  ): boolean {
    if (object.selected !== selected || object.ofOtherProxy !== ofOtherProxy) return false;
    if (object.hinted !== facts.hinted || object.service !== serviceOf(facts)) return false;
    if (!sameItems(object.groups, facts.groups, sameGroup)) return false;
    object.raw = raw;
    object.isUncompared = true;
    return true;
  }

  remove(object: EndpointsObject): void {
    const { service } = object;
    this.#objects.delete(object.key);
    if (service === undefined) return;
    const siblings = this.#byService.get(service) ?? [];
    siblings.splice(siblings.indexOf(object), 1);
    if (siblings.length === 0) this.#byService.delete(service);
  }

  /** A Service has lost an object that clients still see. */
  addRetired(service: string, key: string): void {
    const keys = this.#retired.get(service);
    if (keys === undefined) this.#retired.set(service, [key]);
    else keys.push(key);
  }

  /** Keys of objects that a Service has lost since the last call, and that clients still see. */
  takeRetired(service: string): readonly string[] {
    const keys = this.#retired.get(service) ?? NO_KEYS;
    this.#retired.delete(service);
    return keys;
  }

  #internGroups(groups: readonly EndpointGroup[]): readonly EndpointGroup[] {
    return groups.map(({ ports, numbers, endpoints, addresses }) => ({
      ports: this.#ports.intern(ports.join('\n'), () => ports),
      numbers: this.#numbers.intern(numbers.join(), () => numbers),
      endpoints,
      addresses,
    }));
  }
}

/** Where an object with this key belongs in a sorted list. */
function placeOf(sorted: readonly EndpointsObject[], key: string): number {
  let [start, end] = [0, sorted.length];
  while (start < end) {
    const middle = (start + end) >> 1;
    if ((sorted[middle] as EndpointsObject).key < key) start = middle + 1;
    else end = middle;
  }
  return start;
}

function serviceOf({ namespace, service }: EndpointsFacts): string | undefined {
  return service === '' ? undefined : `${namespace}/${service}`;
}

/** Equal endpoints are one object, except after the cache that interns them was cleared. */
function sameGroup(a: EndpointGroup, b: EndpointGroup): boolean {
  return (
    sameItems(a.ports, b.ports) &&
    sameItems(a.numbers, b.numbers) &&
    sameItems(a.endpoints, b.endpoints) &&
    sameItems(a.addresses, b.addresses)
  );
}

function sameItems<T>(
  a: readonly T[],
  b: readonly T[],
  same: (a: T, b: T) => boolean = Object.is,
): boolean {
  return a.length === b.length && a.every((item, index) => same(item, b[index] as T));
}

const NO_OBJECTS: readonly EndpointsObject[] = [];
const NO_KEYS: readonly string[] = [];
