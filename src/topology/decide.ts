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

/** Whether this node and an endpoint are related by a key; see {@link Relations}. */
export type Relates = (key: string, endpoint: Endpoint) => boolean;

/** What of a policy, beside its keys, bears on a decision. */
export interface DecideOptions {
  /** Ready endpoints that each key needs to count, in the order of the keys; default: one. */
  readonly minReady?: readonly number[];
  /**
   * Chooses among the keys with enough ready endpoints or, if none has, with any (bit i for key i; 0: there
   * is none) where the first is not to win at once; see ReturnDelay.
   */
  readonly prefer?: (port: string, ready: number) => number;
}

/** What is gathered of one family and port: a bit per key that has an endpoint in that state. */
interface Candidates {
  readonly family: string;
  readonly port: string;
  ready: number;
  serving: number;
  /** Ready endpoints by key; only when some key needs more than one. */
  readonly counts: Uint32Array | undefined;
}

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
  keys: readonly string[],
  relates: Relates,
  options: DecideOptions = {},
): Decision {
  const masks = matchMasks(groups, keys, relates);
  const candidates = gather(groups, masks, options.minReady?.length);
  const winners = new Map<string, number>();
  const ports: PortDecision[] = [];
  for (const [id, candidate] of candidates) {
    const decision = choose(id, candidate, options);
    ports.push(decision);
    winners.set(id, decision.key < 0 ? -1 : 1 << decision.key);
  }
  return { ports, keep: keepMask(groups, masks, winners) };
}

/** For each endpoint, the keys that match it: bit i for key i. */
function matchMasks(
  groups: readonly EndpointGroup[],
  keys: readonly string[],
  relates: Relates,
): Uint16Array {
  const masks = new Uint16Array(countEndpoints(groups));
  let index = 0;
  for (const { endpoints } of groups) {
    for (const endpoint of endpoints) {
      let mask = 0;
      for (let key = 0; key < keys.length; key++) {
        if (relates(keys[key] as string, endpoint)) mask |= 1 << key;
      }
      masks[index++] = mask;
    }
  }
  return masks;
}

/** @param counted number of keys, if their ready endpoints are to be counted */
function gather(
  groups: readonly EndpointGroup[],
  masks: Uint16Array,
  counted: number | undefined,
): Map<string, Candidates> {
  const candidates = new Map<string, Candidates>();
  let index = 0;
  for (const { ports, endpoints } of groups) {
    for (const endpoint of endpoints) {
      const mask = masks[index++] as number;
      for (const port of portsOf(ports)) {
        const id = portId(endpoint.family, port);
        let candidate = candidates.get(id);
        if (candidate === undefined) {
          const counts = counted === undefined ? undefined : new Uint32Array(counted);
          candidate = { family: endpoint.family, port, ready: 0, serving: 0, counts };
          candidates.set(id, candidate);
        }
        if (endpoint.state === 'ready') addReady(candidate, mask);
        else if (endpoint.state === 'serving') candidate.serving |= mask;
      }
    }
  }
  return candidates;
}

function addReady(candidate: Candidates, mask: number): void {
  candidate.ready |= mask;
  const { counts } = candidate;
  if (counts === undefined) return;
  for (let key = 0; key < counts.length; key++) {
    if ((mask & (1 << key)) !== 0) counts[key] = (counts[key] as number) + 1;
  }
}

function choose(id: string, candidate: Candidates, options: DecideOptions): PortDecision {
  const { family, port, ready, serving } = candidate;
  const enough = enoughReady(candidate, options.minReady);
  // Too few are better than none: a key that nobody can fulfil must not cut traffic.
  const eligible = enough === 0 ? ready : enough;
  const key = options.prefer?.(id, eligible);
  if (eligible !== 0) return { family, port, key: key ?? lowestBit(eligible), stage: 'ready' };
  if (serving !== 0) return { family, port, key: lowestBit(serving), stage: 'serving' };
  return { family, port, key: -1, stage: 'any' };
}

function enoughReady(
  { ready, counts }: Candidates,
  minReady: readonly number[] | undefined,
): number {
  if (counts === undefined || minReady === undefined) return ready;
  let enough = 0;
  counts.forEach((count, key) => {
    if (count >= (minReady[key] ?? 1)) enough |= 1 << key;
  });
  return enough;
}

function keepMask(
  groups: readonly EndpointGroup[],
  masks: Uint16Array,
  winners: ReadonlyMap<string, number>,
): Uint8Array {
  const keep = new Uint8Array(masks.length);
  let index = 0;
  for (const { ports, endpoints } of groups) {
    for (const endpoint of endpoints) {
      const mask = masks[index] as number;
      const chosen = portsOf(ports).some(
        (port) => (mask & (winners.get(portId(endpoint.family, port)) ?? 0)) !== 0,
      );
      if (chosen) keep[index] = 1;
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

function portId(family: string, port: string): string {
  return `${family} ${port}`;
}
