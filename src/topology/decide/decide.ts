import type { Endpoint, EndpointGroup } from './endpoint.ts';
import { lowestBit } from './return-delay.ts';

/**
 * Which endpoints are looked for, in this order:
 * - `ready`: the first key with enough ready endpoints won or, if none has enough, the first with any
 * - `serving`: no key has a ready one; the first key with a serving (terminating) one won, so that
 *   kube-proxy's own fallback to terminating endpoints still works
 * - `any`: neither; everything that matches any key is shown, for kube-proxy to see what there is
 */
export type Stage = 'ready' | 'serving' | 'any';

/** The outcome for one address family and port. */
export interface PortDecision {
  readonly family: string;
  /** `<protocol>/<name>`, as in {@link EndpointGroup.ports}; empty for a group that has no ports. */
  readonly port: string;
  /** Index of the key that won; -1 in stage `any`. */
  readonly key: number;
  readonly stage: Stage;
}

/** The outcome for all endpoints of one Service in one view. */
export interface Decision {
  readonly ports: readonly PortDecision[];
  /** One entry per endpoint in the order of the groups, flattened: 1 stays, 0 is left out. */
  readonly keep: Uint8Array;
}

/** A decision with what it was taken from, so that it can be explained later as of the same moment. */
export interface MatchedDecision extends Decision {
  /** The keys that match each endpoint, in the order of `keep`. */
  readonly masks: Uint16Array;
}

/** Whether this node and an endpoint are related by a key; see {@link Relations}. */
export type MatchesEndpoint = (key: string, endpoint: Endpoint) => boolean;

/** What of a policy, beside its keys, bears on a decision. */
export interface DecideOptions {
  /**
   * Ready endpoints that each key needs to count, in the order of the keys; default: one. One that is in two groups
   * counts twice, for a decision knows no addresses.
   */
  readonly minReady?: readonly number[];
  /**
   * Chooses among the keys with enough ready endpoints or, if none has, with any (bit i for key i; 0: there
   * is none) where the first is not to win at once; see ReturnDelay.
   */
  readonly prefer?: (port: string, ready: number) => number;
}

/** The keys that match an endpoint: bit i for key i. */
export type Matches = (endpoint: Endpoint) => number;

/**
 * Decides which endpoints of a Service this node sees. Pure.
 *
 * The groups are those of *all* slices of the Service, for a slice with far endpoints only must give way to
 * one with near ones. The decision is taken for each address family and port, since a near backend that
 * lacks the port is no backend; an endpoint stays if it is chosen for any port of its group. Keys are tried
 * in order and never merge: the first one with an endpoint of the stage wins, and all endpoints it matches go
 * along, whatever their state. When no key matches anything, nothing is kept.
 *
 * At most 16 keys (checked by assertTopologyKeys), so that a set of keys fits a bit mask.
 */
export function decide(
  groups: readonly EndpointGroup[],
  matches: Matches,
  options: DecideOptions = {},
): Decision {
  const { ports, keep } = decideMatched(groups, matches, options);
  return { ports, keep };
}

/** The same, with what each endpoint matched. */
export function decideMatched(
  groups: readonly EndpointGroup[],
  matches: Matches,
  options: DecideOptions = {},
): MatchedDecision {
  const masks = new Uint16Array(countEndpoints(groups));
  const classes = classify(groups, matches, masks, options.minReady?.length);
  const ports = decidePorts(classes, options);
  return { ports, keep: keepMask(groups, classes, masks), masks };
}

/** The keys that match an endpoint, by asking for each of them. */
export function matchesBy(keys: readonly string[], relates: MatchesEndpoint): Matches {
  return (endpoint) => {
    let mask = 0;
    for (let key = 0; key < keys.length; key++) {
      if (relates(keys[key] as string, endpoint)) mask |= 1 << key;
    }
    return mask;
  };
}

/** What of a class of endpoints a decision about one of its ports is taken from. */
export interface ClassMatches {
  /** Keys that match an endpoint in that state. */
  readonly ready: number;
  readonly serving: number;
  /** Ready endpoints by key; only when some key needs more than one. */
  readonly counts: Uint32Array | undefined;
}

/**
 * Endpoints that share their family and their ports, for which all is decided alike: mostly one class in all.
 * Ports are told apart by identity first, which a caller that keeps equal lists once makes fast.
 */
interface EndpointClass extends ClassMatches {
  readonly family: string;
  readonly ports: readonly string[];
  ready: number;
  serving: number;
  /** Keys that won for any of the ports. */
  winners: number;
}

/** @param counted number of keys, if their ready endpoints are to be counted */
function classify(
  groups: readonly EndpointGroup[],
  matches: Matches,
  masks: Uint16Array,
  counted: number | undefined,
): EndpointClass[] {
  const classes: EndpointClass[] = [];
  let index = 0;
  for (const { ports, endpoints } of groups) {
    let current: EndpointClass | undefined;
    for (const endpoint of endpoints) {
      if (current?.family !== endpoint.family) {
        current = classOf(classes, endpoint.family, ports, counted);
      }
      const mask = matches(endpoint);
      masks[index++] = mask;
      if (endpoint.state === 'ready') addReady(current, mask);
      else if (endpoint.state === 'serving') current.serving |= mask;
    }
  }
  return classes;
}

function classOf(
  classes: EndpointClass[],
  family: string,
  ports: readonly string[],
  counted: number | undefined,
): EndpointClass {
  const known = classes.find((each) => each.family === family && each.ports === ports);
  if (known !== undefined) return known;
  const counts = counted === undefined ? undefined : new Uint32Array(counted);
  const added = { family, ports, ready: 0, serving: 0, counts, winners: 0 };
  classes.push(added);
  return added;
}

function addReady(target: EndpointClass, mask: number): void {
  target.ready |= mask;
  const { counts } = target;
  if (counts === undefined) return;
  for (let key = 0; key < counts.length; key++) {
    if ((mask & (1 << key)) !== 0) counts[key] = (counts[key] as number) + 1;
  }
}

const ANY_OF_THEM = 0xffff;

/** Decides each family and port over all classes that have it, and notes the winners there. */
function decidePorts(classes: readonly EndpointClass[], options: DecideOptions): PortDecision[] {
  return [...byPort(classes)].map(([id, { family, port, having }]) => {
    const { key, stage } = decidePort(id, having, options);
    const winners = key < 0 ? ANY_OF_THEM : 1 << key;
    for (const each of having) each.winners |= winners;
    return { family, port, key, stage };
  });
}

/** A family and port, and the classes that have it. */
interface ClassesOfPort {
  readonly family: string;
  readonly port: string;
  readonly having: EndpointClass[];
}

/** In one pass: the slices of a Service may have thousands of different ports, none of which many of them share. */
function byPort(classes: readonly EndpointClass[]): ReadonlyMap<string, ClassesOfPort> {
  const found = new Map<string, ClassesOfPort>();
  for (const each of classes) {
    const { family } = each;
    for (const port of portsOf(each.ports)) {
      const id = `${family} ${port}`;
      const known = found.get(id);
      if (known === undefined) found.set(id, { family, port, having: [each] });
      // A list may name a port twice; its endpoints count once.
      else if (known.having.at(-1) !== each) known.having.push(each);
    }
  }
  return found;
}

/**
 * Decides one port from the classes that have it.
 *
 * @param id `<family> <port>`, by which a return delay knows it
 */
export function decidePort(
  id: string,
  classes: readonly ClassMatches[],
  options: DecideOptions,
): Pick<PortDecision, 'key' | 'stage'> {
  let ready = 0;
  let serving = 0;
  for (const each of classes) {
    ready |= each.ready;
    serving |= each.serving;
  }
  const enough = enoughReady(ready, classes, options.minReady);
  // Too few are better than none: a key that nobody can fulfil must not cut traffic.
  const eligible = enough === 0 ? ready : enough;
  const key = options.prefer?.(id, eligible);
  if (eligible !== 0) return { key: key ?? lowestBit(eligible), stage: 'ready' };
  if (serving !== 0) return { key: lowestBit(serving), stage: 'serving' };
  return { key: -1, stage: 'any' };
}

function enoughReady(
  ready: number,
  classes: readonly ClassMatches[],
  minReady: readonly number[] | undefined,
): number {
  if (minReady === undefined) return ready;
  let enough = 0;
  minReady.forEach((needed, key) => {
    let count = 0;
    for (const { counts } of classes) count += counts?.[key] ?? 0;
    if (count >= needed) enough |= 1 << key;
  });
  return enough;
}

function keepMask(
  groups: readonly EndpointGroup[],
  classes: EndpointClass[],
  masks: Uint16Array,
): Uint8Array {
  const keep = new Uint8Array(masks.length);
  let index = 0;
  for (const { ports, endpoints } of groups) {
    let current: EndpointClass | undefined;
    for (const { family } of endpoints) {
      if (current?.family !== family) current = classOf(classes, family, ports, undefined);
      if (((masks[index] as number) & current.winners) !== 0) keep[index] = 1;
      index++;
    }
  }
  return keep;
}

/** Number of endpoints in all groups. */
export function countEndpoints(groups: readonly EndpointGroup[]): number {
  let count = 0;
  for (const { endpoints } of groups) count += endpoints.length;
  return count;
}

const NO_PORTS: readonly string[] = [''];

/** A slice without ports still has endpoints to decide about: they form a port of their own. */
function portsOf(ports: readonly string[]): readonly string[] {
  return ports.length === 0 ? NO_PORTS : ports;
}
