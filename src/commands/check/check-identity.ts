import { pino } from 'pino';
import { WrapperError } from '../../errors.ts';
import { loadCredentials } from '../../proxy/credentials/credentials.ts';
import { createUpstream, readBody, type Upstream } from '../../proxy/upstream/upstream.ts';
import { fail, ok, skip, type Verdict } from './verdict.ts';

/** What kube-proxy needs through the wrapper, and the wrapper itself; see manifests/base/cluster-role.yaml. */
const NEEDS: readonly (readonly [group: string, resource: string, verbs: readonly string[]])[] = [
  ['', 'services', ['list', 'watch']],
  ['', 'nodes', ['list', 'watch']],
  ['discovery.k8s.io', 'endpointslices', ['list', 'watch']],
  ['networking.k8s.io', 'servicecidrs', ['list', 'watch']],
  ['events.k8s.io', 'events', ['create']],
];

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/** Asks the API server what the identity of a kubeconfig may do. */
export async function checkIdentity(kubeconfig: string): Promise<Verdict> {
  const logger = pino({ level: 'silent' });
  const credentials = await loadCredentials({ kubeconfig, logger });
  const upstream = createUpstream({ credentials, logger });
  try {
    const queries = NEEDS.flatMap(([group, resource, verbs]) =>
      verbs.map((verb) => ({ group, resource, verb })),
    );
    const allowed = await Promise.all(queries.map((each) => isAllowed(upstream, each)));
    const denied = queries.filter((_, index) => !allowed[index]);
    if (denied.length === 0)
      return ok('identity', `${kubeconfig} may read all that kube-proxy needs`);
    const list = denied.map(({ verb, resource }) => `${verb} ${resource}`).join(', ');
    const text = `${kubeconfig} may not ${list}`;
    const next =
      'bind its user to a ClusterRole with the rules of manifests/base/cluster-role.yaml';
    if (denied.every(({ resource }) => resource === 'servicecidrs')) {
      // system:node-proxier, which may be all that a user has, grants them since then, too.
      return skip('identity', `${text}, which only a kube-proxy from 1.33 on asks for`, next);
    }
    return fail('identity', text, next);
  } catch (error) {
    const { message } = WrapperError.from(error, 'Unreachable');
    return fail(
      'identity',
      message,
      `is the server in ${kubeconfig} right, and can it be reached?`,
    );
  } finally {
    await upstream.close();
    credentials.close();
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
    const what = response.statusCode === 401 ? 'who this is' : 'to a SelfSubjectAccessReview';
    throw new WrapperError(
      'Refused',
      `the API server answered ${response.statusCode}: it does not agree ${what}`,
    );
  }
  const { status } = JSON.parse(body.toString('utf8')) as { status?: { allowed?: boolean } };
  return status?.allowed === true;
}
