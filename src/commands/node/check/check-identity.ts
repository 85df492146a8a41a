import { ok, problem, type StatusLine, unknown } from '../../../admin/status/status-line.ts';
import { WrapperError } from '../../../errors.ts';
import { readBody, type Upstream } from '../../../proxy/upstream/upstream.ts';
import { withKubeClient } from '../../client/kube-client.ts';

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
  return await withKubeClient(identity, ({ upstream }) => checkRights(kubeconfig, upstream));
}

async function checkRights(kubeconfig: string, upstream: Upstream): Promise<StatusLine> {
  try {
    const queries = NEEDS.flatMap(([group, resource, verbs]) =>
      verbs.map((verb) => ({ group, resource, verb })),
    );
    const allowed = await Promise.all(queries.map((each) => isAllowed(upstream, each)));
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
    const { message } = WrapperError.from(error, 'Unreachable');
    return problem(
      'identity',
      message,
      `check that the server in ${kubeconfig} is right and reachable`,
    );
  }
}

async function isAllowed(
  upstream: Upstream,
  resourceAttributes: { readonly group: string; readonly resource: string; readonly verb: string },
): Promise<boolean> {
  const response = await upstream.request({
    method: 'POST',
    path: REVIEWS,
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    }),
    signal: AbortSignal.timeout(10_000),
  });
  const body = await readBody(response.body, 1024 * 1024, response.headers);
  if (response.statusCode !== 201) {
    const what = response.statusCode === 401 ? 'these credentials' : 'a SelfSubjectAccessReview';
    throw new WrapperError(
      'Refused',
      `the API server answered ${response.statusCode}: it does not accept ${what}`,
    );
  }
  const { status } = JSON.parse(body.toString('utf8')) as { status?: { allowed?: boolean } };
  return status?.allowed === true;
}
