import type { CountedPorts } from './counted-ports.ts';
import {
  type Endpoint,
  type EndpointGroup,
  type EndpointState,
  type FamilyPort,
  NO_PORTS,
  portId,
} from './endpoint.ts';

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
  readonly counts: KeyNumbers | undefined;
  /** Keys that won for any of the ports; 0: none of the ports was decided, so the endpoints count for nothing. */
  winners: number;
  /** Whether any endpoint is ready or serving. */
  usable: boolean;
  /** Whether any endpoint is kept, and whether any of these is ready or serving. */
  kept: boolean;
  keptUsable: boolean;
}

/** Numbers of endpoints by key, whatever other keys match. */
export interface KeyNumbers {
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
  /** Undefined: endpoints are not counted. */
  readonly #keys: number | undefined;
  /** The classes of each list, one per family; only if there are more than {@link FEW}. */
  #byPorts: Map<readonly string[], EndpointClass[]> | undefined;

  constructor(keys: number | undefined) {
    this.#keys = keys;
  }

  classOf(family: string, ports: readonly string[]): EndpointClass {
    const among = this.#byPorts === undefined ? this.all : this.#byPorts.get(ports);
    const known = among?.find((each) => each.family === family && each.ports === ports);
    if (known !== undefined) return known;
    const keys = this.#keys;
    const added: EndpointClass = {
      family,
      ports,
      ready: 0,
      serving: 0,
      counts: keys === undefined ? undefined : noNumbers(keys),
      winners: 0,
      usable: false,
      kept: false,
      keptUsable: false,
    };
    this.all.push(added);
    if (this.#byPorts === undefined) {
      if (this.all.length > FEW) this.#byPorts = Map.groupBy(this.all, (each) => each.ports);
    } else if (among === undefined) this.#byPorts.set(ports, [added]);
    else among.push(added);
    return added;
  }
}

/** How endpoints are put into classes. */
export interface Classification {
  readonly groups: readonly EndpointGroup[];
  /** Undefined: all endpoints count, for all ports of their groups. */
  readonly counted: CountedPorts | undefined;
}

/**
 * Puts all endpoints that count into classes, and the key masks of all into `masks`.
 *
 * @param keys number of keys, so that endpoints are counted by key; undefined: they are not counted
 */
export function classify(
  { groups, counted }: Classification,
  keyMaskOf: KeyMaskOf,
  masks: Uint16Array,
  keys: number | undefined,
): EndpointClasses {
  const classes = new EndpointClasses(keys);
  let index = 0;
  for (const { ports, endpoints } of groups) {
    let current: EndpointClass | undefined;
    for (const endpoint of endpoints) {
      const { family, state } = endpoint;
      const mask = keyMaskOf(endpoint);
      masks[index] = mask;
      const own = counted === undefined ? ports : counted[index];
      index++;
      if (own === undefined) continue;
      if (current?.family !== family || current.ports !== own)
        current = classes.classOf(family, own);
      if (state !== 'notReady') current.usable = true;
      if (state === 'ready') current.ready |= mask;
      else if (state === 'serving') current.serving |= mask;
      if (current.counts !== undefined) addMask(current.counts, state, mask);
    }
  }
  return classes;
}

/**
 * One entry for each endpoint: 1 if a key that matches it won for one of its ports, or if it is kept in addition.
 * `added` is the number of the latter.
 */
export function markKept(
  { groups, counted }: Classification,
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
      const at = index++;
      const own = counted === undefined ? ports : counted[at];
      if (own === undefined) continue;
      const { family, state } = endpoint;
      if (current?.family !== family || current.ports !== own)
        current = classes.classOf(family, own);
      const { winners } = current;
      const isChosen = ((masks[at] as number) & winners) !== 0;
      if (isChosen || (winners !== 0 && alsoKeep?.(endpoint) === true)) {
        keep[at] = 1;
        current.kept = true;
        if (state !== 'notReady') current.keptUsable = true;
        if (!isChosen) added++;
      }
    }
  }
  return { keep, added };
}

/** A family and port, and the classes that have it. */
export interface PortClasses extends FamilyPort {
  readonly having: EndpointClass[];
}

/**
 * The classes by {@link portId}, in one pass: a Service may have thousands of ports that its slices do not share.
 *
 * @param ports ids of these only; default: all
 */
export function classesByPort(
  classes: readonly EndpointClass[],
  ports?: readonly string[],
): ReadonlyMap<string, PortClasses> {
  const byPort = new Map<string, PortClasses>();
  const wanted = ports !== undefined && ports.length > FEW ? new Set(ports) : undefined;
  for (const each of classes) {
    const { family } = each;
    for (const port of each.ports.length === 0 ? NO_PORTS : each.ports) {
      const id = portId({ family, port });
      const isWanted = wanted?.has(id) ?? ports?.includes(id) ?? true;
      if (!isWanted) continue;
      const known = byPort.get(id);
      if (known === undefined) byPort.set(id, { family, port, having: [each] });
      // A list may name a port twice; its endpoints count once.
      else if (known.having.at(-1) !== each) known.having.push(each);
    }
  }
  return byPort;
}

/** Whether a key matches as many ready endpoints of these classes as it needs. */
export function hasEnough(classes: readonly EndpointClass[], key: number, needed: number): boolean {
  let count = 0;
  for (const { counts } of classes) count += counts?.ready[key] ?? 0;
  return count >= needed;
}

/** The endpoints of classes that have been counted, by key. */
export function countByKey(classes: readonly EndpointClass[], keys: number): KeyNumbers {
  const sum = noNumbers(keys);
  for (const { counts } of classes) if (counts !== undefined) addNumbers(sum, counts);
  return sum;
}

function noNumbers(keys: number): KeyNumbers {
  const none = () => new Uint32Array(keys);
  return { ready: none(), serving: none(), total: none() };
}

function addNumbers(sum: KeyNumbers, { ready, serving, total }: KeyNumbers): void {
  for (let key = 0; key < sum.total.length; key++) {
    (sum.ready[key] as number) += ready[key] as number;
    (sum.serving[key] as number) += serving[key] as number;
    (sum.total[key] as number) += total[key] as number;
  }
}

function addMask({ ready, serving, total }: KeyNumbers, state: EndpointState, mask: number): void {
  if (state === 'ready') addTo(ready, mask);
  else if (state === 'serving') addTo(serving, mask);
  addTo(total, mask);
}

function addTo(counts: Uint32Array, mask: number): void {
  for (let key = 0; key < counts.length; key++) {
    if ((mask & (1 << key)) !== 0) counts[key] = (counts[key] as number) + 1;
  }
}
