import type { Endpoint, EndpointGroup } from './endpoint.ts';

/** The keys that match an endpoint: bit i for key i. */
export type KeyMaskOf = (endpoint: Endpoint) => number;

/**
 * Endpoints that share their family and their ports, so that one decision holds for all of them. Most Services have
 * one class. Lists of ports are compared by identity, which is fast if the caller keeps equal lists once.
 */
export interface EndpointClass {
  readonly family: string;
  readonly ports: readonly string[];
  /** Keys that match a ready endpoint: bit i for key i. */
  ready: number;
  /** Keys that match a serving endpoint. */
  serving: number;
  /** Only if some key needs more than one ready endpoint, or for an explanation. */
  readonly counts: ClassCounts | undefined;
  /** Keys that won for any of the ports. */
  winners: number;
}

/** Numbers of endpoints of a class by key, whatever other keys match. */
export interface ClassCounts {
  readonly ready: Uint32Array;
  readonly serving: Uint32Array;
  readonly total: Uint32Array;
}

/** So many are compared one by one. Most Services have one or two, and a Map costs a tenth of their decision. */
const FEW = 8;

/** All classes of a Service. */
export class EndpointClasses {
  /** In the order in which their endpoints came. */
  readonly all: EndpointClass[] = [];
  readonly #counted: number | undefined;
  /** The classes of each list, one per family; only if there are more than {@link FEW}. */
  #byPorts: Map<readonly string[], EndpointClass[]> | undefined;

  constructor(counted: number | undefined) {
    this.#counted = counted;
  }

  of(family: string, ports: readonly string[]): EndpointClass {
    const among = this.#byPorts === undefined ? this.all : this.#byPorts.get(ports);
    const known = among?.find((each) => each.family === family && each.ports === ports);
    if (known !== undefined) return known;
    const counts = this.#counted === undefined ? undefined : noCounts(this.#counted);
    const added = { family, ports, ready: 0, serving: 0, counts, winners: 0 };
    this.all.push(added);
    if (this.#byPorts === undefined) {
      if (this.all.length > FEW) this.#byPorts = Map.groupBy(this.all, (each) => each.ports);
    } else if (among === undefined) this.#byPorts.set(ports, [added]);
    else among.push(added);
    return added;
  }
}

/**
 * Puts all endpoints into classes, and their key masks into `masks`.
 *
 * @param counted number of keys, if their endpoints must be counted
 */
export function classify(
  groups: readonly EndpointGroup[],
  keyMaskOf: KeyMaskOf,
  masks: Uint16Array,
  counted: number | undefined,
): EndpointClasses {
  const classes = new EndpointClasses(counted);
  let index = 0;
  for (const { ports, endpoints } of groups) {
    let current: EndpointClass | undefined;
    for (const endpoint of endpoints) {
      if (current?.family !== endpoint.family) {
        current = classes.of(endpoint.family, ports);
      }
      const mask = keyMaskOf(endpoint);
      masks[index++] = mask;
      const { counts } = current;
      if (counts !== undefined) addTo(counts.total, mask);
      if (endpoint.state === 'ready') {
        current.ready |= mask;
        if (counts !== undefined) addTo(counts.ready, mask);
      } else if (endpoint.state === 'serving') {
        current.serving |= mask;
        if (counts !== undefined) addTo(counts.serving, mask);
      }
    }
  }
  return classes;
}

/**
 * One entry for each endpoint: 1 if a key that matches it won for one of its ports, or if it is kept in addition.
 * `added` is the number of the latter.
 */
export function markKept(
  groups: readonly EndpointGroup[],
  classes: EndpointClasses,
  masks: Uint16Array,
  alsoKeep: ((endpoint: Endpoint) => boolean) | undefined,
): { keep: Uint8Array; added: number } {
  const keep = new Uint8Array(masks.length);
  let added = 0;
  let index = 0;
  for (const { ports, endpoints } of groups) {
    let current: EndpointClass | undefined;
    for (const endpoint of endpoints) {
      const { family } = endpoint;
      if (current?.family !== family) current = classes.of(family, ports);
      if (((masks[index] as number) & current.winners) !== 0) {
        keep[index] = 1;
      } else if (alsoKeep?.(endpoint)) {
        keep[index] = 1;
        added++;
      }
      index++;
    }
  }
  return { keep, added };
}

/** A family and port, and the classes that have it. */
export interface PortClasses {
  readonly family: string;
  readonly port: string;
  readonly having: EndpointClass[];
}

/** The classes of each `<family> <port>`, in one pass: a Service may have thousands of ports that its slices do not share. */
export function classesByPort(classes: readonly EndpointClass[]): ReadonlyMap<string, PortClasses> {
  const byPort = new Map<string, PortClasses>();
  for (const each of classes) {
    const { family } = each;
    for (const port of each.ports.length === 0 ? NO_PORTS : each.ports) {
      const id = `${family} ${port}`;
      const known = byPort.get(id);
      if (known === undefined) byPort.set(id, { family, port, having: [each] });
      // A list may name a port twice; its endpoints count once.
      else if (known.having.at(-1) !== each) known.having.push(each);
    }
  }
  return byPort;
}

/** A slice without ports still has endpoints to decide about: they share a port without a name. */
const NO_PORTS: readonly string[] = [''];

function noCounts(keys: number): ClassCounts {
  const none = () => new Uint32Array(keys);
  return { ready: none(), serving: none(), total: none() };
}

function addTo(counts: Uint32Array, mask: number): void {
  for (let key = 0; key < counts.length; key++) {
    if ((mask & (1 << key)) !== 0) counts[key] = (counts[key] as number) + 1;
  }
}
