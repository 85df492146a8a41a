import type { ApiClient } from '../../e2e/support/api.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/**
 * Makes a ServiceAccount that may read what clients of Services read, and returns its name as a user and a token.
 */
export async function createCaller(
  admin: ApiClient,
  namespace: string,
  name: string,
): Promise<{ readonly user: string; readonly token: string }> {
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await admin.create(accounts, { metadata: { name } });
  const verbs = ['get', 'list', 'watch'];
  await admin.create(`${RBAC}/clusterroles`, {
    metadata: { name },
    rules: [
      { apiGroups: [''], resources: ['services', 'nodes', 'namespaces', 'secrets'], verbs },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs },
      { apiGroups: ['networking.k8s.io'], resources: ['ingresses', 'ingressclasses'], verbs },
    ],
  });
  await admin.create(`${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  });
  const request = await admin.create(`${accounts}/${name}/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name },
    spec: {},
  });
  return { user: `system:serviceaccount:${namespace}:${name}`, token: request.status.token };
}
