/*
 * The room `decide`: which endpoints of a Service this node sees. Pure; what a key matches is passed in.
 *
 * - decide.ts: the decision; endpoint-classes.ts: endpoints that are decided together
 */

import { type Endpoint, type EndpointGroup, type FamilyPort, portId, portOf } from './endpoint.ts';
import {
  type Addresses,
  type AddressOf,
  classesByPort,
  classify,
  type EndpointClass,
  hasEnough,
  type KeyMaskOf,
  markKept,
} from './endpoint-classes.ts';

/**
 * Which endpoints a port was decided by. The first three are tried in this order:
 * - `ready`: the first key with enough ready endpoints won or, if no key has enough, the first with any
 * - `serving`: no key has a ready endpoint; the first key with a serving (terminating) one won, so that
 *   kube-proxy's own fallback to terminating endpoints still works
 * - `any`: neither; every endpoint that matches any key is shown, so that kube-proxy can choose
 * - `none`: the Service has the port, and no endpoint has it
 */
export type Stage = 'ready' | 'serving' | 'any' | 'none';

/** The decision for one address family and port. */
export interface PortDecision extends FamilyPort {
  /** Index of the key that won; -1 in the stages `any` and `none`. */
  readonly key: number;
  readonly stage: Stage;
}

/** The decision for all endpoints of one Service in one view. */
export interface Decision {
  readonly ports: readonly PortDecision[];
  /** One entry for each endpoint in the order of the groups, flattened: 1 is kept, 0 is left out. */
  readonly keep: Uint8Array;
  /** How many are kept only because of {@link DecideOptions.alsoKeep}. */
  readonly added: number;
  /** The keys that match each endpoint, in the order of `keep`, so that the decision can be explained. */
  readonly masks: Uint16Array;
  /** What was decided together, so that the decision can be explained. */
  readonly classes: readonly EndpointClass[];
  /** What was decided, and how: with other masks, the same decision can be made again. */
  readonly groups: readonly EndpointGroup[];
  readonly options: DecideOptions;
}

/** The parts of a policy, besides its keys, that a decision depends on. */
export interface DecideOptions {
  /**
   * The ports of the Service, by {@link portId}. Other ports and families of the groups count for nothing, because
   * kube-proxy takes both from the Service. Default: the Service is not known or headless, and they are those of the
   * groups.
   */
  readonly ports?: readonly string[] | undefined;
  /** Ready endpoints that each key needs to count, in the order of the keys; default: one. */
  readonly minReady?: readonly number[];
  /**
   * First address of an endpoint, by its index among those of all groups. With it, an endpoint that is in two groups
   * counts once. Only called if endpoints are counted, and there are several groups. Default: it counts twice.
   */
  readonly addressOf?: AddressOf | undefined;
  /** Endpoints that are kept whatever key wins. They do not help a key to win. Default: none. */
  readonly alsoKeep?: (endpoint: Endpoint) => boolean;
}

/**
 * Decides which endpoints of a Service this node sees. Pure.
 *
 * The groups are those of *all* slices of the Service, because a slice with only far endpoints must give way to
 * a slice with near ones. Each address family and port is decided alone, because a near endpoint without the port
 * cannot serve it. An endpoint is kept if it is chosen for any port of its group; one that has no port of the Service
 * is not kept, because nobody can use it. Keys are tried in order and never merge: the first key with an endpoint of
 * the stage wins, and all endpoints that it matches are kept, whatever their state. If no key matches an endpoint, none
 * is kept.
 *
 * At most 16 keys (see assertTopologyKeys), so that a set of keys fits into a bit mask.
 */
export function decide(
  groups: readonly EndpointGroup[],
  keyMaskOf: KeyMaskOf,
  options: DecideOptions = {},
): Decision {
  const masks = new Uint16Array(countEndpoints(groups));
  const addresses = addressesOf(groups, masks, options);
  const isCompared = addresses !== undefined;
  const counting = options.minReady && { keys: options.minReady.length, isCompared };
  const classes = classify(groups, keyMaskOf, masks, counting);
  const decided = decidePorts(classes.all, addresses, options);
  const ports = withAllPorts(decided, classes.all, options);
  const { keep, added } = markKept(groups, classes, masks, options.alsoKeep);
  return { ports, keep, added, masks, classes: classes.all, groups, options };
}

const ALL_KEYS = 0xffff;

/**
 * Addresses are compared for each port, at most so many of them. Only a Service that is made to keep nodes busy has
 * more. Its addresses are not compared, so an endpoint that is in two groups counts twice.
 */
const MAX_COMPARED = 1_000_000;

/** Undefined: no addresses are compared. */
function addressesOf(
  groups: readonly EndpointGroup[],
  masks: Uint16Array,
  { ports, minReady, addressOf }: DecideOptions,
): Addresses | undefined {
  if (minReady === undefined || addressOf === undefined || groups.length < 2) return undefined;
  const count = ports?.length ?? groups.reduce((sum, group) => sum + group.ports.length, 1);
  return count * masks.length <= MAX_COMPARED ? { addressOf, masks } : undefined;
}

/** Decides each family and port over all classes that have it, and marks the winners in these classes. */
function decidePorts(
  classes: readonly EndpointClass[],
  addresses: Addresses | undefined,
  { ports, minReady }: DecideOptions,
): PortDecision[] {
  const decided: PortDecision[] = [];
  for (const { family, port, having } of classesByPort(classes, ports).values()) {
    const { key, stage } = decidePort({ having, addresses }, minReady);
    decided.push({ family, port, key, stage });
    const winners = key < 0 ? ALL_KEYS : 1 << key;
    for (const each of having) each.winners |= winners;
  }
  return decided;
}

/** Adds the ports of the Service that no endpoint has, for each address family that has endpoints. */
function withAllPorts(
  decided: readonly PortDecision[],
  classes: readonly EndpointClass[],
  { ports }: DecideOptions,
): readonly PortDecision[] {
  if (ports === undefined) return decided;
  // Nearly all Services end here.
  if (decided.length === ports.length) return decided;
  const known = new Set(decided.map(portId));
  const families = new Set(classes.map(({ family }) => family));
  const without = ports
    .filter((id) => !known.has(id))
    .map((id): PortDecision => ({ ...portOf(id), key: -1, stage: 'none' }))
    .filter(({ family }) => families.has(family));
  return decided.concat(without);
}

/** What has a family and port. */
interface PortEndpoints {
  readonly having: readonly EndpointClass[];
  readonly addresses: Addresses | undefined;
}

function decidePort(
  among: PortEndpoints,
  minReady: readonly number[] | undefined,
): Pick<PortDecision, 'key' | 'stage'> {
  let ready = 0;
  let serving = 0;
  for (const each of among.having) {
    ready |= each.ready;
    serving |= each.serving;
  }
  const enough = enoughReady(ready, among, minReady);
  // Too few are better than none: a minimum that no key reaches must not cut traffic.
  const eligible = enough === 0 ? ready : enough;
  if (eligible !== 0) return { key: lowestBit(eligible), stage: 'ready' };
  if (serving !== 0) return { key: lowestBit(serving), stage: 'serving' };
  return { key: -1, stage: 'any' };
}

function enoughReady(
  ready: number,
  { having, addresses }: PortEndpoints,
  minReady: readonly number[] | undefined,
): number {
  if (minReady === undefined) return ready;
  let enough = 0;
  minReady.forEach((needed, key) => {
    if (hasEnough(having, key, needed, addresses)) enough |= 1 << key;
  });
  return enough;
}

/** Index of the lowest bit that is set. */
function lowestBit(mask: number): number {
  return 31 - Math.clz32(mask & -mask);
}

/** The groups of all objects of a Service. */
export function groupsOf(
  objects: readonly { readonly groups: readonly EndpointGroup[] }[],
): readonly EndpointGroup[] {
  const all: EndpointGroup[] = [];
  for (const { groups } of objects) for (const group of groups) all.push(group);
  return all;
}

/** Number of endpoints in all groups. */
export function countEndpoints(groups: readonly EndpointGroup[]): number {
  let count = 0;
  for (const { endpoints } of groups) count += endpoints.length;
  return count;
}
