import { HOSTNAME_KEY, ZONE_KEY } from '../src/topology/policy/topology-keys.ts';
import type { PolicyStates } from '../src/topology/state/policy-states.ts';

/** Which keys policies use. */
export type UsedKeys = Pick<PolicyStates, 'keysInUse' | 'usersOf'>;

/** What a cluster without policies may call its places. */
const USUAL: readonly string[] = [ZONE_KEY, 'topology.kubernetes.io/region'];
/** Labels that the bar offers. */
const MAX_LABELS = 8;

/**
 * The labels by which the bar groups and moves nodes: those that policies use and nodes have, the most used first; then
 * the usual ones. Never empty.
 */
export function placeLabels(
  policies: UsedKeys,
  nodes: readonly { readonly labels: Readonly<Record<string, string>> }[],
): string[] {
  const users = (key: string) => policies.usersOf(key).size;
  const inUse = [...policies.keysInUse()].sort((a, b) => users(b) - users(a) || (a < b ? -1 : 1));
  const present = [...new Set([...inUse, ...USUAL])].filter(
    (key) => key !== HOSTNAME_KEY && nodes.some(({ labels }) => Object.hasOwn(labels, key)),
  );
  return present.length === 0 ? ['site'] : present.slice(0, MAX_LABELS);
}
