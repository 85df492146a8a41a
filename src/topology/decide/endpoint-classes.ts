import { type Endpoint, type EndpointGroup, type FamilyPort, portId } from './endpoint.ts';

/** The keys that match an endpoint: bit i for key i. */
export type KeyMaskOf = (endpoint: Endpoint) => number;

/** First address of an endpoint, by its index among those of all groups. */
export type AddressOf = (index: number) => string;

/** How endpoints are counted. */
export interface Counting {
  /** Number of keys. */
  readonly keys: number;
  /** Whether addresses can be compared: then classes have {@link EndpointClass.members}. */
  readonly isCompared: boolean;
}

/** By what endpoints in two groups are recognized. */
export interface Addresses {
  readonly addressOf: AddressOf;
  /** As in Decision. */
  readonly masks: Uint16Array;
}

/** Endpoints of a class, each with its index among those of all groups. */
interface Members {
  readonly endpoints: Endpoint[];
  readonly indices: number[];
}

/** The keys that match an address, by the states in which it occurs. */
interface AddressMasks {
  ready: number;
  serving: number;
  total: number;
}

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
  /** Only if addresses can be compared. */
  readonly members: Members | undefined;
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
  readonly #counting: Counting | undefined;
  /** The classes of each list, one per family; only if there are more than {@link FEW}. */
  #byPorts: Map<readonly string[], EndpointClass[]> | undefined;

  constructor(counting: Counting | undefined) {
    this.#counting = counting;
  }

  of(family: string, ports: readonly string[]): EndpointClass {
    const among = this.#byPorts === undefined ? this.all : this.#byPorts.get(ports);
    const known = among?.find((each) => each.family === family && each.ports === ports);
    if (known !== undefined) return known;
    const { keys, isCompared = false } = this.#counting ?? {};
    const added: EndpointClass = {
      family,
      ports,
      ready: 0,
      serving: 0,
      counts: keys === undefined ? undefined : noNumbers(keys),
      members: isCompared ? { endpoints: [], indices: [] } : undefined,
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

/**
 * Puts all endpoints into classes, and their key masks into `masks`.
 *
 * @param counting undefined: endpoints are not counted
 */
export function classify(
  groups: readonly EndpointGroup[],
  keyMaskOf: KeyMaskOf,
  masks: Uint16Array,
  counting: Counting | undefined,
): EndpointClasses {
  const classes = new EndpointClasses(counting);
  let index = 0;
  for (const { ports, endpoints } of groups) {
    let current: EndpointClass | undefined;
    for (const endpoint of endpoints) {
      if (current?.family !== endpoint.family) {
        current = classes.of(endpoint.family, ports);
      }
      const mask = keyMaskOf(endpoint);
      const { state } = endpoint;
      if (state !== 'notReady') current.usable = true;
      if (state === 'ready') current.ready |= mask;
      else if (state === 'serving') current.serving |= mask;
      const { counts, members } = current;
      if (counts !== undefined) addMasks(counts, masksIn(state, mask));
      members?.endpoints.push(endpoint);
      members?.indices.push(index);
      masks[index++] = mask;
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
      const { family, state } = endpoint;
      if (current?.family !== family) current = classes.of(family, ports);
      const { winners } = current;
      const isChosen = ((masks[index] as number) & winners) !== 0;
      if (isChosen || (winners !== 0 && alsoKeep?.(endpoint) === true)) {
        keep[index] = 1;
        current.kept = true;
        if (state !== 'notReady') current.keptUsable = true;
        if (!isChosen) added++;
      }
      index++;
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

/** A slice without ports still has endpoints to decide about: they share a port without a name. */
const NO_PORTS: readonly string[] = [''];

/**
 * Whether a key matches as many ready endpoints of these classes as it needs. Addresses are read only until there are
 * enough different ones.
 */
export function hasEnough(
  classes: readonly EndpointClass[],
  key: number,
  needed: number,
  addresses: Addresses | undefined,
): boolean {
  let count = 0;
  for (const { counts } of classes) count += counts?.ready[key] ?? 0;
  if (count < needed || needed === 1 || addresses === undefined) return count >= needed;
  const { addressOf, masks } = addresses;
  const seen = new Set<string>();
  for (const { members } of classes) {
    for (const [at, index] of members?.indices.entries() ?? []) {
      const isReady = members?.endpoints[at]?.state === 'ready';
      if (!isReady || ((masks[index] as number) & (1 << key)) === 0) continue;
      seen.add(addressOf(index));
      if (seen.size >= needed) return true;
    }
  }
  return false;
}

/**
 * The endpoints of classes that have been counted, by key. One that is in two groups counts once, as the better one.
 */
export function countByKey(
  classes: readonly EndpointClass[],
  keys: number,
  addresses: Addresses | undefined,
): KeyNumbers {
  const sum = noNumbers(keys);
  const byAddress = new Map<string, AddressMasks>();
  for (const { counts, members } of classes) {
    if (addresses === undefined || members === undefined) {
      if (counts !== undefined) addNumbers(sum, counts);
      continue;
    }
    for (const [at, index] of members.indices.entries()) {
      const { state } = members.endpoints[at] as Endpoint;
      const mask = addresses.masks[index] as number;
      mergeMasks(byAddress, addresses.addressOf(index), masksIn(state, mask));
    }
  }
  for (const masks of byAddress.values()) addMasks(sum, masks);
  return sum;
}

function masksIn(state: Endpoint['state'], mask: number): AddressMasks {
  const ready = state === 'ready' ? mask : 0;
  return { ready, serving: state === 'serving' ? mask : 0, total: mask };
}

function mergeMasks(
  all: Map<string, AddressMasks>,
  address: string,
  { ready, serving, total }: AddressMasks,
): void {
  const known = all.get(address);
  if (known === undefined) {
    all.set(address, { ready, serving, total });
    return;
  }
  known.ready |= ready;
  known.serving |= serving;
  known.total |= total;
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

function addMasks(numbers: KeyNumbers, { ready, serving, total }: AddressMasks): void {
  addTo(numbers.ready, ready);
  addTo(numbers.serving, serving & ~ready);
  addTo(numbers.total, total);
}

function addTo(counts: Uint32Array, mask: number): void {
  for (let key = 0; key < counts.length; key++) {
    if ((mask & (1 << key)) !== 0) counts[key] = (counts[key] as number) + 1;
  }
}
