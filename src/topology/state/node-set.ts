/**
 * A node set: the nodes that match a label selector made from this node's own labels. It is what a relation
 * to other nodes needs, and all the world ever asks about other nodes.
 *
 * - `syncing`: watched, nothing known yet
 * - `synced`: the members are known; if it is refused later, they stay as they were
 * - `refused`: the API server does not let us; only this node itself counts
 * - `overLimit`: not watched, because more sets are needed than `maxNodeSets`; only this node itself counts
 */
export interface NodeSet {
  readonly selector: string;
  state: 'syncing' | 'synced' | 'refused' | 'overLimit';
  /** Whether a policy needs it now. A set that none needs stays open for a while; see NodeSets. */
  needed: boolean;
  /** Names of the nodes in the set. */
  readonly members: Set<string>;
  /** Why the members are not known, or not up to date; undefined: they are, or will be soon. */
  refusal: string | undefined;
}

/** An empty set that a policy needs, not yet synced. */
export function createNodeSet(selector: string): NodeSet {
  return { selector, state: 'syncing', needed: true, members: new Set(), refusal: undefined };
}

/** What it means that a set may not be read, in words. */
export function consequenceOfRefusal(set: Pick<NodeSet, 'state'> | undefined): string {
  return set?.state === 'synced'
    ? 'the nodes that were known stay, and changes are not heard of'
    : 'only this node itself counts as one of them';
}
