import type { ApiClient } from '../api-server/api.ts';

/** One right of a ClusterRole. */
export interface Right {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
}

const rbac = '/apis/rbac.authorization.k8s.io/v1';

/** Every right that the rules of a ClusterRole grant, one by one. */
export function rightsOf(rules: readonly Rule[]): Right[] {
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb }))),
    ),
  );
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Makes a ServiceAccount with just these rights, and returns a token of it. */
export async function createAccount(
  admin: ApiClient,
  name: string,
  rights: readonly Right[],
  namespace = 'kube-system',
): Promise<string> {
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await admin.create(accounts, { metadata: { name } });
  const rules = rights.map(({ group, resource, verb }) => ({
    apiGroups: [group],
    resources: [resource],
    verbs: [verb],
  }));
  await admin.create(`${rbac}/clusterroles`, { metadata: { name }, rules });
  await admin.create(`${rbac}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  });
  return await requestToken(admin, name, namespace);
}

/** A token of a ServiceAccount, requested as kubelet does. */
async function requestToken(admin: ApiClient, name: string, namespace: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const answer = await admin.create(path, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name },
    spec: {},
  });
  return answer.status.token;
}
