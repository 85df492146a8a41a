import type { ApiClient } from './api.ts';
import { labelNode } from './cluster-objects.ts';
import { eventually } from './eventually.ts';

/** Settings that read every source below. */
export const communitySettings = {
  nodeLabels: ['apps.openyurt.io/nodepool', 'apps.kubeedge.io/belonging-to'],
  labelValues: ['nodeunits.superedge.io'],
  fabedgeCluster: 'fab',
};

/** The two communities of the tests. */
export type CommunityName = 'north' | 'south';

/** A way of saying which nodes belong to a community. */
export interface CommunitySource {
  /** Makes what it needs, such as a kind of resource. */
  prepare(): Promise<void>;
  join(node: string, community: CommunityName): Promise<void>;
  leave(node: string, community: CommunityName): Promise<void>;
  /** Ends a community: no node is in it any more. */
  dissolve(community: CommunityName): Promise<void>;
}

/** Names a community by a label that is made for it. */
function labelSource(
  admin: ApiClient,
  labelOf: (community: CommunityName) => readonly [key: string, value: string],
): CommunitySource {
  const members = new Map<CommunityName, Set<string>>();
  const leave = async (node: string, community: CommunityName) => {
    members.get(community)?.delete(node);
    await labelNode(admin, node, { [labelOf(community)[0]]: null });
  };
  return {
    prepare: async () => {},
    join: async (node, community) => {
      members.set(community, (members.get(community) ?? new Set()).add(node));
      const [key, value] = labelOf(community);
      await labelNode(admin, node, { [key]: value });
    },
    leave,
    dissolve: async (community) => {
      for (const node of members.get(community) ?? []) await leave(node, community);
    },
  };
}

/** Communities of FabEdge, and among their members nodes of another cluster. */
export function fabedgeSource(
  admin: ApiClient,
): CommunitySource & { /** Deletes the CRD. */ remove(): Promise<void> } {
  const members = new Map<CommunityName, Set<string>>();
  const membersOf = (community: CommunityName) => {
    const known = members.get(community) ?? new Set<string>();
    members.set(community, known);
    return known;
  };
  const write = async (community: CommunityName) => {
    const path = `${COMMUNITIES}/${community}`;
    const own = Array.from(membersOf(community), (node) => `fab.${node}`);
    const spec = { members: [...own, 'other.edge1', 'other.edge4', 'edge4'] };
    if ((await admin.status(path)) === 200) await admin.patch(path, { spec });
    else await admin.create(COMMUNITIES, { ...communityOf(community), spec });
  };
  return {
    prepare: async () => await createCommunityCrd(admin),
    remove: async () => await admin.delete(`${CRDS}/${CRD}`),
    join: async (node, community) => {
      membersOf(community).add(node);
      await write(community);
    },
    leave: async (node, community) => {
      membersOf(community).delete(node);
      await write(community);
    },
    dissolve: async (community) => {
      members.delete(community);
      await admin.delete(`${COMMUNITIES}/${community}`);
    },
  };
}

const COMMUNITIES = '/apis/fabedge.io/v1alpha1/communities';
const CRD = 'communities.fabedge.io';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

function communityOf(name: string) {
  return { apiVersion: 'fabedge.io/v1alpha1', kind: 'Community', metadata: { name } };
}

/** Edge1 according to one source, all others according to another. */
function mixedSource(ofEdge1: CommunitySource, ofOthers: CommunitySource): CommunitySource {
  const of = (node: string) => (node === 'edge1' ? ofEdge1 : ofOthers);
  return {
    prepare: async () => {
      await ofEdge1.prepare();
      await ofOthers.prepare();
    },
    join: async (node, community) => await of(node).join(node, community),
    leave: async (node, community) => await of(node).leave(node, community),
    dissolve: async (community) => {
      await ofEdge1.dissolve(community);
      await ofOthers.dissolve(community);
    },
  };
}

/** FabEdge's own resource, with the fields that are read. Does nothing if it exists. */
async function createCommunityCrd(admin: ApiClient): Promise<void> {
  if ((await admin.status(`${CRDS}/${CRD}`)) === 200) return;
  const members = { type: 'array', items: { type: 'string' } };
  const spec = { type: 'object', properties: { members } };
  await admin.create(CRDS, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: CRD },
    spec: {
      group: 'fabedge.io',
      scope: 'Cluster',
      names: { plural: 'communities', singular: 'community', kind: 'Community' },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  });
  await eventually(
    async () => await admin.status(COMMUNITIES),
    (status) => status === 200,
    { what: 'the API server serves communities' },
  );
}

type Label = (community: CommunityName) => readonly [key: string, value: string];
const prefix: Label = (community) => [`community.kube-proxy-wrapper.io/${community}`, 'true'];
const nodeUnit: Label = (community) => [community, 'nodeunits.superedge.io'];
/** A label has one value: who is in two communities needs two. */
const nodeLabel: Label = (community) => [
  community === 'north' ? 'apps.openyurt.io/nodepool' : 'apps.kubeedge.io/belonging-to',
  community,
];

/** Each source alone, then two together. The CRD is made only when its source is prepared. */
export const communitySources = {
  'a label prefix': (admin: ApiClient) => labelSource(admin, prefix),
  'node labels': (admin: ApiClient) => labelSource(admin, nodeLabel),
  'label keys by value': (admin: ApiClient) => labelSource(admin, nodeUnit),
  "FabEdge's CRD": fabedgeSource,
  'a label on edge1 and the CRD for the others': (admin: ApiClient) =>
    mixedSource(labelSource(admin, prefix), fabedgeSource(admin)),
} as const satisfies Readonly<Record<string, (admin: ApiClient) => CommunitySource>>;
