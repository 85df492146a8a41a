import type { ApiClient } from './api.ts';

/** What the wrapper may do on its own account, beside what system:node-proxier grants. */
export const wrapperRules = [
  {
    apiGroups: [''],
    resources: ['services', 'endpoints', 'nodes', 'namespaces'],
    verbs: ['get', 'list', 'watch'],
  },
  {
    apiGroups: ['discovery.k8s.io'],
    resources: ['endpointslices'],
    verbs: ['get', 'list', 'watch'],
  },
  {
    apiGroups: ['networking.k8s.io'],
    resources: ['servicecidrs'],
    verbs: ['get', 'list', 'watch'],
  },
  { apiGroups: ['fabedge.io'], resources: ['communities'], verbs: ['get', 'list', 'watch'] },
  {
    apiGroups: ['authorization.k8s.io'],
    resources: ['subjectaccessreviews'],
    verbs: ['create'],
  },
];

const rbac = '/apis/rbac.authorization.k8s.io/v1';

/** Binds the user to a role with {@link wrapperRules} and to system:node-proxier. */
export async function grantWrapperRole(admin: ApiClient, user: string): Promise<void> {
  const name = 'kube-proxy-wrapper';
  await admin.create(`${rbac}/clusterroles`, { metadata: { name }, rules: wrapperRules });
  for (const role of [name, 'system:node-proxier']) {
    await admin.create(`${rbac}/clusterrolebindings`, {
      metadata: { name: `${name}:${role}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    });
  }
}
