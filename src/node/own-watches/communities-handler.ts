import type { Codec, ObjectBytes, ObjectMeta } from '../../filter/codec/codec.ts';
import type { Change, ChangeHandler } from '../../filter/objects/change.ts';
import type { Resource } from '../../filter/objects/resource.ts';
import type { Topology } from '../../topology/state/topology.ts';

/** FabEdge's communities (its pkg/apis/v1alpha1): cluster-scoped, `spec.members: ["<cluster>.<node>", …]`. */
export const COMMUNITIES: Resource = {
  group: 'fabedge.io',
  version: 'v1alpha1',
  plural: 'communities',
  kind: 'Community',
  namespaced: false,
};

/** What is read of a Community. */
export interface CommunityFacts extends ObjectMeta {
  readonly members: readonly string[];
}

/** Reads a Community; members that are not strings are left out. */
export function communityFacts(codec: Codec, object: ObjectBytes): CommunityFacts {
  const { spec } = JSON.parse(object.toString('utf8')) as { spec?: { members?: unknown } };
  const members = Array.isArray(spec?.members) ? spec.members : [];
  return {
    ...codec.meta(object),
    members: members.filter((member): member is string => typeof member === 'string'),
  };
}

/** The nodes of a community that belong to a cluster. Members are prefixed with the name of theirs. */
export function nodesOfCommunity(
  { members }: Pick<CommunityFacts, 'members'>,
  cluster: string,
): ReadonlySet<string> {
  const prefix = `${cluster}.`;
  const own = members.filter((member) => member.startsWith(prefix));
  return new Set(own.map((member) => member.slice(prefix.length)));
}

/** Sets in the topology the nodes of each community that belong to this cluster. */
export class CommunitiesHandler implements ChangeHandler<CommunityFacts> {
  readonly #topology: Pick<Topology, 'setCommunities'>;
  readonly #cluster: string;
  #communities: ReadonlyMap<string, ReadonlySet<string>> = new Map();

  /** @param cluster name of this cluster */
  constructor(topology: Pick<Topology, 'setCommunities'>, cluster: string) {
    this.#topology = topology;
    this.#cluster = cluster;
  }

  onChanges(changes: readonly Change<CommunityFacts>[]): void {
    if (changes.length === 0) return;
    const communities = new Map(this.#communities);
    for (const change of changes) {
      if (change.type === 'DELETED') communities.delete(change.key);
      else communities.set(change.key, nodesOfCommunity(change.facts, this.#cluster));
    }
    this.#communities = communities;
    this.#topology.setCommunities(communities);
  }

  onSynced(): void {
    this.#topology.setCommunities(this.#communities);
  }
}
