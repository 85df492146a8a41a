import { decide, type PortDecision } from '../../topology/decide/decide.ts';
import { type Endpoint, portId } from '../../topology/decide/endpoint.ts';
import {
  classesByPort,
  countByKey,
  type EndpointClass,
} from '../../topology/decide/endpoint-classes.ts';
import type { DecidedEndpoints } from './explain-endpoints.ts';
import type { KeyCounts, PortExplanation } from './explanation.ts';

/**
 * Explains the decision about each family and port, which must have counts (DecideOptions.minReady). If there are more
 * than `limit`, those with problems come first. The time grows with the number of endpoints, plus the number of
 * different lists of ports.
 */
export function explainPorts(decided: DecidedEndpoints, limit: number): PortExplanation[] {
  const { decision } = decided;
  const listed = worstFirst(decision.ports, limit);
  if (listed.length === 0) return [];
  const byPort = classesByPort(decision.classes);
  const won = new Set(listed.map(({ key }) => key).filter((key) => key >= 0));
  const ids = listed.map(portId);
  const next = new Map([...won].map((key) => [key, winnersWithout(decided, key, ids)]));
  return listed.map((port) => {
    const id = portId(port);
    return explainPort(decided, byPort.get(id)?.having ?? [], port, next.get(port.key)?.get(id));
  });
}

function worstFirst(ports: readonly PortDecision[], limit: number): readonly PortDecision[] {
  if (ports.length <= limit) return ports;
  const isBad = ({ stage }: PortDecision): boolean => stage !== 'ready';
  const bad = ports.filter(isBad);
  return [...bad, ...ports.filter((port) => !isBad(port))].slice(0, limit);
}

function explainPort(
  decided: DecidedEndpoints,
  having: readonly EndpointClass[],
  decision: PortDecision,
  next: string | undefined,
): PortExplanation {
  const { family, port } = decision;
  const keys = countKeys(decided, having);
  return {
    family,
    port,
    without: decision.stage === 'none' || undefined,
    keys,
    winner: decided.policy.keys[decision.key],
    why: whyOf(keys, decision),
    next,
  };
}

function countKeys(
  { policy: { keys }, decision: { options } }: DecidedEndpoints,
  having: readonly EndpointClass[],
): readonly KeyCounts[] {
  const { minReady } = options;
  const { ready, serving, total } = countByKey(having, keys.length);
  return keys.map((key, index) => ({
    key,
    ready: ready[index] ?? 0,
    serving: serving[index] ?? 0,
    total: total[index] ?? 0,
    needs: minReady?.[index] ?? 1,
  }));
}

/**
 * The key of each port that would win without the endpoints that a key matches: the same decision, made without them.
 */
function winnersWithout(
  { policy: { keys }, decision: { groups, masks: decided, counted, options } }: DecidedEndpoints,
  gone: number,
  ids: readonly string[],
): ReadonlyMap<string, string | undefined> {
  const masks = new Map<Endpoint, number>();
  let index = 0;
  for (const { endpoints } of groups) {
    for (const endpoint of endpoints) masks.set(endpoint, decided[index++] as number);
  }
  const maskOf = (endpoint: Endpoint): number => {
    const mask = masks.get(endpoint) ?? 0;
    // No key matches an endpoint that is gone, so it counts for none.
    return (mask & (1 << gone)) === 0 ? mask : 0;
  };
  const { ports = [] } = decide(groups, maskOf, { ...options, ports: ids, counted }) ?? {};
  return new Map(ports.map((port) => [portId(port), keys[port.key]]));
}

function whyOf(keys: readonly KeyCounts[], { key, stage }: PortDecision): string {
  if (stage === 'none') return 'no endpoint has this port';
  const winner = keys[key];
  if (winner === undefined) {
    const matching = keys.some(({ total }) => total > 0);
    return matching
      ? 'no endpoint that a key matches is ready or serving; all that match are shown'
      : 'no key matches any endpoint';
  }
  if (stage === 'serving') {
    return 'no key has a ready endpoint; this is the first with a serving (terminating) one';
  }
  const nearer = keys.slice(0, key);
  if (winner.ready < winner.needs) {
    return 'no key has as many ready endpoints as it needs; this is the first with any';
  }
  if (nearer.length === 0) return `first key, ${winner.ready} ready`;
  const few = nearer.filter(({ ready }) => ready > 0);
  if (few.length > 0) return `${few.map(tooFew).join(', ')}; ${winner.ready} ready here`;
  return `no nearer key has a ready endpoint, ${winner.ready} ready here`;
}

function tooFew({ key, ready, needs: least }: KeyCounts): string {
  return `${key} has ${ready} of ${least} ready endpoints that it needs`;
}
