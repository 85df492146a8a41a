import type { Decision, PortDecision } from '../../topology/decide/decide.ts';
import type { Endpoint } from '../../topology/decide/endpoint.ts';

/**
 * Explains what a decision means for one endpoint, in words, e.g. `site matches, but kubernetes.io/hostname has ready
 * endpoints`.
 *
 * @param ports the ports of its group
 * @param index of the endpoint among those of all groups
 */
export type ReasonOf = (ports: readonly string[], endpoint: Endpoint, index: number) => string;

/** Why an endpoint is kept that no winning key matches, see DecideOptions.alsoKeep. */
const LOCAL = 'it is on this node, and externalTrafficPolicy is Local';

/** Nobody can connect to such an endpoint, so it is not shown. */
const UNUSED = 'the Service has no port of this endpoint';

/** kube-proxy uses one of several with the same address and port, see countedPorts. */
const COPY = 'another endpoint with this address and port counts in its place';

/** Returns a function that explains one endpoint, in a time that does not depend on the number of ports. */
export function endpointReasons(
  { keep, ports, masks, counted }: Decision,
  keys: readonly string[],
): ReasonOf {
  const outcomes = new Map<string, Map<readonly string[], readonly PortDecision[]>>();
  const outcomesOf = (family: string, names: readonly string[]): readonly PortDecision[] => {
    const ofFamily = outcomes.get(family) ?? new Map();
    outcomes.set(family, ofFamily);
    const found = ofFamily.get(names) ?? distinctOutcomes(ports, family, names);
    ofFamily.set(names, found);
    return found;
  };
  return (all, endpoint, index) => {
    const names = counted === undefined ? all : counted[index];
    if (names === undefined) return COPY;
    const kept = keep[index] === 1;
    const mask = masks[index] as number;
    const winners = outcomesOf(endpoint.family, names);
    if (winners.length === 0) return UNUSED;
    const first = keys.findIndex((_, key) => (mask & (1 << key)) !== 0);
    // With several ports, one that keeps the endpoint explains why it is kept.
    const keeps = winners.find(({ key }) => (key < 0 ? mask !== 0 : (mask & (1 << key)) !== 0));
    if (kept && keeps === undefined) return LOCAL;
    return endpointReason({ endpoint, kept, keys, first, winner: keeps ?? winners[0] });
  };
}

/** The decisions about some ports, in their order; of equal outcomes only the first. */
function distinctOutcomes(
  ports: readonly PortDecision[],
  family: string,
  names: readonly string[],
): readonly PortDecision[] {
  const own = new Set(names.length === 0 ? [''] : names);
  const distinct = new Map<string, PortDecision>();
  for (const port of ports) {
    const outcome = `${port.key} ${port.stage}`;
    if (port.family !== family || !own.has(port.port) || distinct.has(outcome)) continue;
    distinct.set(outcome, port);
  }
  return [...distinct.values()];
}

function endpointReason(about: {
  readonly endpoint: Endpoint;
  readonly kept: boolean;
  readonly keys: readonly string[];
  /** Index of the first key that matches; -1: no key does. */
  readonly first: number;
  readonly winner: PortDecision | undefined;
}): string {
  const { endpoint, kept, keys, first, winner } = about;
  if (first < 0) {
    return endpoint.node === '' ? 'no key matches: it names no node' : 'no key matches';
  }
  const key = keys[first];
  if (winner === undefined || winner.key < 0)
    return `${key} matches; no endpoint is ready or serving`;
  const won = keys[winner.key];
  if (kept) return `${won} matches, and has ${winner.stage} endpoints`;
  // A nearer key may lose because it has too few ready endpoints.
  if (first < winner.key) return `${key} matches, but does not count yet; ${won} does`;
  return `${key} matches, but ${won} has ${winner.stage} endpoints`;
}
