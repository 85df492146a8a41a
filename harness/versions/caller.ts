import type { ApiClient } from '../api-server/api.ts';
import { createAccount, rightsOf } from '../deploy/account.ts';

/**
 * Makes a ServiceAccount that may read what clients of Services read, and returns its name as a user and a token.
 */
export async function createCaller(
  admin: ApiClient,
  namespace: string,
  name: string,
): Promise<{ readonly user: string; readonly token: string }> {
  const verbs = ['get', 'list', 'watch'];
  const rights = rightsOf([
    { apiGroups: [''], resources: ['services', 'nodes', 'namespaces', 'secrets'], verbs },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs },
    { apiGroups: ['networking.k8s.io'], resources: ['ingresses', 'ingressclasses'], verbs },
  ]);
  const token = await createAccount(admin, name, rights, namespace);
  return { user: `system:serviceaccount:${namespace}:${name}`, token };
}
