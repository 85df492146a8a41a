import { ZONE_KEY } from '../policy/policy.ts';
import type { TopologyMatch } from './topology-match.ts';

/** What becomes of a topology key when this node changes. */
export interface KeyMove {
  /** The key stands for other nodes, or for this node itself where it did not. */
  readonly moved: boolean;
  /** Nodes that entered or left it: Services with endpoints on these are touched; undefined: all that use the key. */
  readonly nodes: Iterable<string> | undefined;
}

/**
 * Compares what a key matches before and after this node has changed. Pure.
 *
 * @param before undefined: the node was not known
 * @param nodesOf the other nodes that are known to match
 */
export function moveOfKey(
  key: string,
  before: TopologyMatch | undefined,
  after: TopologyMatch,
  nodesOf: (relation: TopologyMatch) => ReadonlySet<string>,
): KeyMove {
  if (before === undefined) return { moved: true, nodes: undefined };
  const moved = before.self !== after.self || !sameSelectors(before, after);
  if (!differInNodesOnly(key, before, after)) return { moved, nodes: undefined };
  return { moved, nodes: difference(nodesOf(before), nodesOf(after)) };
}

/**
 * Whether two relations of a key differ at most in the other nodes they hold: then only Services with endpoints
 * on these care. The zone key is also told by the zone of an endpoint, and whether this node itself is among
 * the nodes by policies for edge nodes only.
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
