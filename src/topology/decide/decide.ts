/*
 * The room `decide`: which endpoints of a Service this node sees. Pure; what a key matches is passed in.
 *
 * - decide.ts: the decision; endpoint-classes.ts: endpoints that are decided together
 * - key-mask.ts, key-mask-cache.ts: the keys that match an endpoint, as bits
 * - return-delay.ts: holds a key until a nearer one has been ready for long enough
 */

import type { ManagedPolicy } from '../policy/policy.ts';
import { HOSTNAME_KEY } from '../policy/topology-keys.ts';
import type { Endpoint, EndpointGroup } from './endpoint.ts';
import {
  type ClassMatches,
  classesByPort,
  classify,
  type EndpointClass,
  markKept,
} from './endpoint-classes.ts';
import type { KeyMaskOf, MatchesEndpoint } from './key-mask.ts';
import { lowestBit } from './return-delay.ts';

/**
 * Which endpoints a port was decided by. The stages are tried in this order:
 * - `ready`: the first key with enough ready endpoints won or, if no key has enough, the first with any
 * - `serving`: no key has a ready endpoint; the first key with a serving (terminating) one won, so that
 *   kube-proxy's own fallback to terminating endpoints still works
 * - `any`: neither; every endpoint that matches any key is shown, so that kube-proxy can choose
 */
export type Stage = 'ready' | 'serving' | 'any';

/** The decision for one address family and port. */
export interface PortDecision {
  readonly family: string;
  /** `<protocol>/<name>`, as in {@link EndpointGroup.ports}; empty for a group without ports. */
  readonly port: string;
  /** Index of the key that won; -1 in stage `any`. */
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
}

/** The parts of a policy, besides its keys, that a decision depends on. */
export interface DecideOptions {
  /**
   * Ready endpoints that each key needs to count, in the order of the keys; default: one. An endpoint that is in two
   * groups counts twice, because a decision has no addresses.
   */
  readonly minReady?: readonly number[];
  /**
   * Chooses among the keys with enough ready endpoints or, if no key has enough, with any (bit i for key i; 0: no
   * key has any). Default: the first of them wins. See ReturnDelay.
   */
  readonly prefer?: (port: string, ready: number) => number;
  /** Endpoints that are kept whatever key wins. They do not help a key to win. Default: none. */
  readonly alsoKeep?: (endpoint: Endpoint) => boolean;
}

/** The options that a policy requires. */
export function optionsOf(
  { minReady, keepsLocal }: ManagedPolicy,
  matches: MatchesEndpoint,
): Pick<DecideOptions, 'minReady' | 'alsoKeep'> {
  return {
    ...(minReady === undefined ? {} : { minReady }),
    ...(keepsLocal ? { alsoKeep: (endpoint) => matches(HOSTNAME_KEY, endpoint) } : {}),
  };
}

/**
 * Decides which endpoints of a Service this node sees. Pure.
 *
 * The groups are those of *all* slices of the Service, because a slice with only far endpoints must give way to
 * a slice with near ones. Each address family and port is decided alone, because a near endpoint without the port
 * cannot serve it. An endpoint is kept if it is chosen for any port of its group. Keys are tried in order and never
 * merge: the first key with an endpoint of the stage wins, and all endpoints that it matches are kept, whatever their
 * state. If no key matches an endpoint, none is kept.
 *
 * At most 16 keys (see assertTopologyKeys), so that a set of keys fits into a bit mask.
 */
export function decide(
  groups: readonly EndpointGroup[],
  keyMaskOf: KeyMaskOf,
  options: DecideOptions = {},
): Decision {
  const masks = new Uint16Array(countEndpoints(groups));
  const classes = classify(groups, keyMaskOf, masks, options.minReady?.length);
  const ports = decidePorts(classes, options);
  const keep = markKept(groups, classes, masks);
  return { ports, keep, masks, added: addKept(groups, keep, options.alsoKeep) };
}

function addKept(
  groups: readonly EndpointGroup[],
  keep: Uint8Array,
  alsoKeep: DecideOptions['alsoKeep'],
): number {
  if (alsoKeep === undefined) return 0;
  let added = 0;
  let index = 0;
  for (const { endpoints } of groups) {
    for (const endpoint of endpoints) {
      if (keep[index] === 0 && alsoKeep(endpoint)) {
        keep[index] = 1;
        added++;
      }
      index++;
    }
  }
  return added;
}

const ALL_KEYS = 0xffff;

/** Decides each family and port over all classes that have it, and marks the winners in these classes. */
function decidePorts(classes: readonly EndpointClass[], options: DecideOptions): PortDecision[] {
  return [...classesByPort(classes)].map(([id, { family, port, having }]) => {
    const { key, stage } = decidePort(id, having, options);
    const winners = key < 0 ? ALL_KEYS : 1 << key;
    for (const each of having) each.winners |= winners;
    return { family, port, key, stage };
  });
}

/**
 * Decides one port from the classes that have it.
 *
 * @param id `<family> <port>`, as a return delay identifies the port
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
  // Too few are better than none: a minimum that no key reaches must not cut traffic.
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

/** Number of endpoints in all groups. */
export function countEndpoints(groups: readonly EndpointGroup[]): number {
  let count = 0;
  for (const { endpoints } of groups) count += endpoints.length;
  return count;
}
