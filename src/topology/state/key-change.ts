import { ZONE_KEY } from '../policy/topology-keys.ts';
import type { TopologyMatch } from './topology-match.ts';

/** How a change of this node affects what one topology key matches. */
export interface KeyChange {
  /** The key matches other nodes than before. */
  readonly changed: boolean;
  /**
   * Nodes that the key matches now and did not before, or the reverse. Only Services with endpoints on these
   * nodes are affected. Undefined: every Service that uses the key is affected.
   */
  readonly nodes: Iterable<string> | undefined;
}

/**
 * Compares what a key matches before and after a change of this node. Pure.
 *
 * @param before undefined: this node was not known
 * @param nodesOf the other nodes that are known to match
 */
export function keyChange(
  key: string,
  before: TopologyMatch | undefined,
  after: TopologyMatch,
  nodesOf: (match: TopologyMatch) => ReadonlySet<string>,
): KeyChange {
  if (before === undefined) return { changed: true, nodes: undefined };
  const changed = before.self !== after.self || !sameSelectors(before, after);
  if (!differInNodesOnly(key, before, after)) return { changed, nodes: undefined };
  return { changed, nodes: difference(nodesOf(before), nodesOf(after)) };
}

/**
 * Whether two matches of a key differ at most in the other nodes. Two cases affect more than those nodes. The zone
 * key also compares zones of endpoints. `self` of the cloud key decides whether a policy for edge nodes applies.
 */
function differInNodesOnly(key: string, a: TopologyMatch, b: TopologyMatch): boolean {
  if (a.self !== b.self) return false;
  return key !== ZONE_KEY || sameSelectors(a, b);
}

function sameSelectors(a: TopologyMatch, b: TopologyMatch): boolean {
  return a.selectors.join('\n') === b.selectors.join('\n');
}

function* difference(a: ReadonlySet<string>, b: ReadonlySet<string>): Generator<string> {
  for (const node of a) if (!b.has(node)) yield node;
  for (const node of b) if (!a.has(node)) yield node;
}
