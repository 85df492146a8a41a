import type { NodeSummary, ServiceList } from '../../admin/explain/node-summary.ts';
import { WrapperError } from '../../errors.ts';
import type { AdminClient } from '../admin-client.ts';
import { fail, ok, skip, type Verdict } from './verdict.ts';

/** Services that a line names. */
const NAMED = 5;

/** Checks that no policy stops the traffic of a Service on this node. */
export async function checkServices(admin: AdminClient): Promise<Verdict> {
  try {
    return verdictOf(await admin.request<NodeSummary>('/summary'));
  } catch (error) {
    const { message } = WrapperError.from(error, 'Unreachable');
    return skip(
      'services',
      `the wrapper does not report which endpoints its policies leave: ${message}`,
    );
  }
}

function verdictOf(summary: NodeSummary): Verdict {
  const { withoutEndpoints, withoutReady, noneReady, invalidPolicies } = summary;
  const problems = [
    ...problemOf(withoutEndpoints, 'no endpoint is left by the policy of'),
    ...problemOf(withoutReady, 'only endpoints that are not ready are left by the policy of'),
  ];
  if (problems.length > 0) {
    return fail(
      'services',
      `traffic fails on this node: ${problems.join('; ')}`,
      'see explain NAMESPACE/SERVICE for each of them; add * as the last key if traffic may leave the site',
    );
  }
  const others = [
    ...problemOf(noneReady, 'no endpoint is ready anywhere of'),
    ...problemOf(invalidPolicies, 'the policy is invalid, so that all endpoints are shown, of'),
  ];
  return ok('services', ['no policy stops the traffic of a Service', ...others].join('; '));
}

function problemOf(list: ServiceList | undefined, what: string): string[] {
  if (list === undefined || list.count === 0) return [];
  const { count, services } = list;
  const rest = count > NAMED ? ` and ${count - NAMED} more` : '';
  const unit = count === 1 ? 'Service' : 'Services';
  return [`${what} ${count} ${unit} (${services.slice(0, NAMED).join(', ')}${rest})`];
}
