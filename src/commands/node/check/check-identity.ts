import { ok, problem, type StatusLine, unknown } from '../../../admin/status/status-line.ts';
import { messageOf } from '../../../util/message-of.ts';
import { type KubeClient, withKubeClient } from '../../client/kube-client.ts';

/** Rights that the wrapper needs for kube-proxy and for itself; see manifests/base/cluster-role.yaml. */
const NEEDS: readonly (readonly [group: string, resource: string, verbs: readonly string[]])[] = [
  ['', 'services', ['list', 'watch']],
  ['', 'nodes', ['list', 'watch']],
  ['discovery.k8s.io', 'endpointslices', ['list', 'watch']],
  ['networking.k8s.io', 'servicecidrs', ['list', 'watch']],
  ['events.k8s.io', 'events', ['create']],
];

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/** Checks that the user of a kubeconfig has the rights of NEEDS. */
export async function checkIdentity(kubeconfig: string, context?: string): Promise<StatusLine> {
  const identity = { kubeconfig: [kubeconfig], context };
  return await withKubeClient(identity, (client) => checkRights(kubeconfig, client));
}

async function checkRights(kubeconfig: string, client: KubeClient): Promise<StatusLine> {
  try {
    const queries = NEEDS.flatMap(([group, resource, verbs]) =>
      verbs.map((verb) => ({ group, resource, verb })),
    );
    const allowed = await Promise.all(queries.map((each) => isAllowed(client, each)));
    const denied = queries.filter((_, index) => !allowed[index]);
    if (denied.length === 0)
      return ok('identity', `${kubeconfig} has all rights that kube-proxy needs`);
    const list = denied.map(({ verb, resource }) => `${verb} ${resource}`).join(', ');
    const text = `${kubeconfig} may not ${list}`;
    const next =
      'bind its user to a ClusterRole with the rules of manifests/base/cluster-role.yaml';
    if (denied.every(({ resource }) => resource === 'servicecidrs')) {
      // The role system:node-proxier grants servicecidrs only since 1.33, too.
      return {
        ...unknown('identity', `${text}, which only kube-proxy 1.33 and newer needs`),
        next,
      };
    }
    return problem('identity', text, next);
  } catch (error) {
    return problem(
      'identity',
      messageOf(error),
      `check that the server in ${kubeconfig} is right and reachable`,
    );
  }
}

async function isAllowed(
  client: KubeClient,
  resourceAttributes: { readonly group: string; readonly resource: string; readonly verb: string },
): Promise<boolean> {
  const { status } = await client.create<{ status?: { allowed?: boolean } }>(
    REVIEWS,
    'create selfsubjectaccessreviews',
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    },
  );
  return status?.allowed === true;
}
