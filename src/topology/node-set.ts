/**
 * A node set: the nodes that match a label selector made from this node's own labels. It is what a relation
 * to other nodes needs, and all the world ever asks about other nodes.
 *
 * - `syncing`: asked for, nothing known yet
 * - `synced`: the members are known; if it is refused later, they stay as they were
 * - `refused`: the API server does not let us; only this node itself counts
 */
export interface NodeSet {
  readonly selector: string;
  state: 'syncing' | 'synced' | 'refused';
  /** Names of the nodes in the set. */
  readonly members: Set<string>;
  /** What the API server said; only when refused. */
  refusal: string | undefined;
}

/** An empty set, not yet synced. */
export function createNodeSet(selector: string): NodeSet {
  return { selector, state: 'syncing', members: new Set(), refusal: undefined };
}

/** What it means that a set may not be read, in words. */
export function consequenceOfRefusal(set: Pick<NodeSet, 'state'> | undefined): string {
  return set?.state === 'synced'
    ? 'the nodes that were known stay, and changes are not heard of'
    : 'only this node itself counts as one of them';
}
