/**
 * A node set: the nodes that a label selector matches. The selector is made from this node's own labels. Node sets
 * are all that the topology needs to know about other nodes.
 *
 * - `syncing`: watched, and the members are not known yet
 * - `synced`: the members are known; a later refusal keeps them
 * - `refused`: the API server refuses the watch; only this node counts as a member
 * - `overLimit`: not watched, because policies need more sets than `maxNodeSets`; policies that need it do not apply
 */
export interface NodeSet {
  readonly selector: string;
  state: 'syncing' | 'synced' | 'refused' | 'overLimit';
  /** Whether a policy needs it. One that no policy needs is closed after a while; see NodeSetRegistry. */
  needed: boolean;
  /** Names of the nodes in the set. */
  readonly members: Set<string>;
  /** Why the members are not known, or not up to date; undefined: they are, or will be soon. */
  refusal: string | undefined;
}

/** What the refusal of a node set means for decisions, in words. */
export function consequenceOfRefusal(set: Pick<NodeSet, 'state'> | undefined): string {
  if (set?.state === 'overLimit') {
    return 'Services whose policies need it are unfiltered (raise maxNodeSets, or allow fewer keys with allowedTopologyKeys)';
  }
  return set?.state === 'synced'
    ? 'the known nodes remain, and changes are not received'
    : 'only this node itself counts as one of them';
}
