import type { ApiClient } from '../api-server/api.ts';
import { poll } from '../poll.ts';

/** Defines FabEdge's resource Community, as far as the wrapper reads it, and waits until it is served. */
export async function createFabEdgeCommunities(admin: ApiClient): Promise<void> {
  await admin.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'communities.fabedge.io' },
    spec: {
      group: 'fabedge.io',
      scope: 'Cluster',
      names: { kind: 'Community', plural: 'communities', singular: 'community' },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
        },
      ],
    },
  });
  const status = async () => await admin.status('/apis/fabedge.io/v1alpha1/communities');
  await poll(status, (code) => code === 200);
}
