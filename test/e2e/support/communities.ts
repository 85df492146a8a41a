import type { ApiClient } from './api.ts';
import { labelNode } from './cluster-objects.ts';
import { eventually } from './eventually.ts';

/** Settings that read both sources below. */
export const communitySettings = { fabedgeCluster: 'fab' };

/** The two communities of the tests. */
export type CommunityName = 'north' | 'south';

/** Says which nodes belong to a community: edge1 by a label of its own, all others by FabEdge's resource. */
export interface Communities {
  join(node: string, community: CommunityName): Promise<void>;
  leave(node: string, community: CommunityName): Promise<void>;
  /** Ends a community: no node is in it any more. */
  dissolve(community: CommunityName): Promise<void>;
  /** Deletes the kind of resource, with all that FabEdge's communities declare. */
  removeCrd(): Promise<void>;
}

const COMMUNITIES = '/apis/fabedge.io/v1alpha1/communities';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const CRD = 'communities.fabedge.io';

/** Makes the kind of resource. */
export async function createCommunities(admin: ApiClient): Promise<Communities> {
  await createCrd(admin);
  const declared: Record<CommunityName, Set<string>> = { north: new Set(), south: new Set() };
  const label = async (community: CommunityName, value: string | null) =>
    await labelNode(admin, 'edge1', { [`community.kube-proxy-wrapper.io/${community}`]: value });
  const declare = async (community: CommunityName) => {
    const path = `${COMMUNITIES}/${community}`;
    const own = Array.from(declared[community], (node) => `fab.${node}`);
    // Nodes of another cluster, and a name without a cluster.
    const spec = { members: [...own, 'other.edge1', 'other.edge4', 'edge4'] };
    const metadata = { name: community };
    if ((await admin.status(path)) === 200) await admin.patch(path, { spec });
    else await admin.create(COMMUNITIES, { ...KIND, metadata, spec });
  };
  return {
    join: async (node, community) => {
      if (node === 'edge1') return void (await label(community, 'true'));
      declared[community].add(node);
      await declare(community);
    },
    leave: async (node, community) => {
      if (node === 'edge1') return void (await label(community, null));
      declared[community].delete(node);
      await declare(community);
    },
    dissolve: async (community) => {
      await label(community, null);
      declared[community].clear();
      await admin.delete(`${COMMUNITIES}/${community}`);
    },
    removeCrd: async () => await admin.delete(`${CRDS}/${CRD}`),
  };
}

const KIND = { apiVersion: 'fabedge.io/v1alpha1', kind: 'Community' };

/** FabEdge's own resource, with the fields that are read. */
async function createCrd(admin: ApiClient): Promise<void> {
  const members = { type: 'array', items: { type: 'string' } };
  const spec = { type: 'object', properties: { members } };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  await admin.create(CRDS, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: CRD },
    spec: {
      group: 'fabedge.io',
      scope: 'Cluster',
      names: { plural: 'communities', singular: 'community', kind: 'Community' },
      versions: [{ name: 'v1alpha1', served: true, storage: true, schema }],
    },
  });
  await eventually(
    async () => await admin.status(COMMUNITIES),
    (status) => status === 200,
    { what: 'the API server serves communities' },
  );
}
