import type { Endpoint, EndpointGroup } from './endpoint.ts';

/**
 * Which endpoints are looked for, in this order:
 * - `ready`: the first key with a ready endpoint won
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

/** What is gathered of one family and port: a bit per key that has an endpoint in that state. */
interface Candidates {
  readonly family: string;
  readonly port: string;
  ready: number;
  serving: number;
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
): Decision {
  const masks = matchMasks(groups, keys, relates);
  const candidates = gather(groups, masks);
  const winners = new Map<string, number>();
  const ports: PortDecision[] = [];
  for (const [id, candidate] of candidates) {
    const decision = choose(candidate);
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

function gather(groups: readonly EndpointGroup[], masks: Uint16Array): Map<string, Candidates> {
  const candidates = new Map<string, Candidates>();
  let index = 0;
  for (const { ports, endpoints } of groups) {
    for (const endpoint of endpoints) {
      const mask = masks[index++] as number;
      for (const port of portsOf(ports)) {
        const id = portId(endpoint.family, port);
        let candidate = candidates.get(id);
        if (candidate === undefined) {
          candidate = { family: endpoint.family, port, ready: 0, serving: 0 };
          candidates.set(id, candidate);
        }
        if (endpoint.state === 'ready') candidate.ready |= mask;
        else if (endpoint.state === 'serving') candidate.serving |= mask;
      }
    }
  }
  return candidates;
}

function choose({ family, port, ready, serving }: Candidates): PortDecision {
  if (ready !== 0) return { family, port, key: lowestBit(ready), stage: 'ready' };
  if (serving !== 0) return { family, port, key: lowestBit(serving), stage: 'serving' };
  return { family, port, key: -1, stage: 'any' };
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

function lowestBit(mask: number): number {
  return 31 - Math.clz32(mask & -mask);
}
