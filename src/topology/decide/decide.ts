/*
 * The room `decide`: which endpoints of a Service this node sees. Pure; what a key matches is passed in.
 *
 * - decide.ts: the decision; endpoint-classes.ts: endpoints that are decided together
 * - counted-ports.ts: what an endpoint is, where several have one address and port
 */

import { type CountedPorts, countedPorts, mayHaveCopies } from './counted-ports.ts';
import {
  countEndpoints,
  type Endpoint,
  type EndpointGroup,
  type FamilyPort,
  portId,
  portOf,
} from './endpoint.ts';
import {
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
  /** Which endpoints count, and for which ports; undefined: all. */
  readonly counted: CountedPorts | undefined;
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
  /** Endpoints that are kept whatever key wins. They do not help a key to win. Default: none. */
  readonly alsoKeep?: ((endpoint: Endpoint) => boolean) | undefined;
  /** As in an earlier decision about the same groups. Default: it is found out. */
  readonly counted?: CountedPorts | undefined;
}

/**
 * Tenants choose how many ports and endpoints a Service has, and it is decided again at each change: a decision must be
 * short.
 */
const MAX_PORTS = 25_000;
const MAX_ENDPOINTS = 100_000;

/**
 * Decides which endpoints of a Service this node sees. Pure.
 *
 * The groups come from *all* slices of the Service, because a slice with only far endpoints must give way to
 * a slice with near ones. If endpoints share an address and port, only one counts, see countedPorts. Each address
 * family and port is decided alone, because a near endpoint without the port cannot serve it. An endpoint is kept if it
 * is chosen for any port of its group; one that has no port of the Service is not kept, because nobody can use it. Keys
 * are tried in order and never merge: the first key with an endpoint of the stage wins, and all endpoints that it
 * matches are kept, whatever their state. If no key matches an endpoint, none is kept.
 *
 * At most 16 keys (see assertTopologyKeys), so that a set of keys fits into a bit mask.
 *
 * @returns undefined: the Service is too large, see {@link MAX_PORTS}, {@link MAX_ENDPOINTS} and countedPorts
 */
export function decide(
  groups: readonly EndpointGroup[],
  keyMaskOf: KeyMaskOf,
  options: DecideOptions = {},
): Decision | undefined {
  const endpoints = countEndpoints(groups);
  if (endpoints > MAX_ENDPOINTS || countPorts(groups, options) > MAX_PORTS) return undefined;
  const masks = new Uint16Array(endpoints);
  const counted = options.counted ?? countedOf(groups, keyMaskOf, masks, options);
  if (counted === 'tooMany') return undefined;
  const counting = { groups, counted };
  const classes = classify(counting, keyMaskOf, masks, options.minReady?.length);
  const decided = decidePorts(classes.all, options);
  const ports = withAllPorts(decided, classes.all, options);
  const { keep, added } = markKept(counting, classes, masks, options.alsoKeep);
  return { ports, keep, added, masks, classes: classes.all, counted, groups, options };
}

const ALL_KEYS = 0xffff;

/** Ports of the Service and of each group. Equal lists count each: whether they are one object is left to a cache. */
function countPorts(groups: readonly EndpointGroup[], { ports }: DecideOptions): number {
  let count = ports?.length ?? 0;
  for (const group of groups) count += group.ports.length;
  return count;
}

function countedOf(
  groups: readonly EndpointGroup[],
  keyMaskOf: KeyMaskOf,
  masks: Uint16Array,
  options: DecideOptions,
): ReturnType<typeof countedPorts> {
  // Nearly all Services end here.
  if (!mayHaveCopies(groups)) return undefined;
  let index = 0;
  for (const { endpoints } of groups) {
    for (const endpoint of endpoints) masks[index++] = keyMaskOf(endpoint);
  }
  return countedPorts(groups, masks, options);
}

/** Decides each family and port over all classes that have it, and marks the winners in these classes. */
function decidePorts(
  classes: readonly EndpointClass[],
  { ports, minReady }: DecideOptions,
): PortDecision[] {
  const decided: PortDecision[] = [];
  for (const { family, port, having } of classesByPort(classes, ports).values()) {
    const { key, stage } = decidePort(having, minReady);
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

function decidePort(
  having: readonly EndpointClass[],
  minReady: readonly number[] | undefined,
): Pick<PortDecision, 'key' | 'stage'> {
  let ready = 0;
  let serving = 0;
  for (const each of having) {
    ready |= each.ready;
    serving |= each.serving;
  }
  const enough = enoughReady(ready, having, minReady);
  // Too few are better than none: a minimum that no key reaches must not cut traffic.
  const eligible = enough === 0 ? ready : enough;
  if (eligible !== 0) return { key: lowestBit(eligible), stage: 'ready' };
  if (serving !== 0) return { key: lowestBit(serving), stage: 'serving' };
  return { key: -1, stage: 'any' };
}

function enoughReady(
  ready: number,
  having: readonly EndpointClass[],
  minReady: readonly number[] | undefined,
): number {
  if (minReady === undefined) return ready;
  let enough = 0;
  minReady.forEach((needed, key) => {
    if (hasEnough(having, key, needed)) enough |= 1 << key;
  });
  return enough;
}

/** Index of the lowest bit that is set. */
function lowestBit(mask: number): number {
  return 31 - Math.clz32(mask & -mask);
}
