import type { ApiClient } from './api.ts';

/** What the wrapper may read on its own account, beside what system:node-proxier grants. */
const readable = {
  '': ['services', 'endpoints', 'nodes', 'namespaces'],
  'discovery.k8s.io': ['endpointslices'],
  'networking.k8s.io': ['servicecidrs'],
  'fabedge.io': ['communities'],
};

const rules = [
  ...Object.entries(readable).map(([apiGroup, resources]) => ({
    apiGroups: [apiGroup],
    resources,
    verbs: ['get', 'list', 'watch'],
  })),
];

const rbac = '/apis/rbac.authorization.k8s.io/v1';

/** Binds the user to a role with these rights and to system:node-proxier. */
export async function grantWrapperRole(admin: ApiClient, user: string): Promise<void> {
  const name = 'kube-proxy-wrapper';
  await admin.create(`${rbac}/clusterroles`, { metadata: { name }, rules });
  for (const role of [name, 'system:node-proxier']) {
    await admin.create(`${rbac}/clusterrolebindings`, {
      metadata: { name: `${name}:${role}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    });
  }
}
