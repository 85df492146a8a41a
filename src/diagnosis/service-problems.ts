import { type FamilyPort, portLabel } from '../topology/decide/endpoint.ts';
import type { Policy } from '../topology/policy/policy.ts';
import { quote } from '../topology/policy/quote.ts';
import { firstFew } from '../util/first-few.ts';
import { type Problem, type ProblemCode, problem } from './catalogue.ts';

/** @param latest the pending policy, if there is one: its annotations are reported, because they may be correct now */
export function policyProblems(policy: Policy, latest = policy): Problem[] {
  const problems = (latest.ignored ?? []).map((each) => problem('annotation-ignored', each));
  if (!policy.managed) {
    const { reason, message } = policy;
    return reason === 'invalid-policy' ? [problem(reason, message), ...problems] : problems;
  }
  const { unusedMinReady: unused, moreUnusedMinReady: more = 0 } = policy;
  if (unused === undefined) return problems;
  const { length } = unused;
  const names = firstFew(unused.map(quote), length, length + more);
  return [...problems, problem('min-ready-without-key', names)];
}

/**
 * Ports of a Service that no endpoint has, by what is wrong with them. kube-proxy matches the ports of Service and
 * slices by name and protocol; a policy has no part in this.
 *
 * @param unnumbered ports that a slice has without a number
 */
export function portProblems(
  ports: readonly FamilyPort[],
  unnumbered: ReadonlySet<string>,
): ReadonlyMap<ProblemCode, readonly string[]> {
  const found = Map.groupBy(ports, ({ port }) =>
    unnumbered.has(port) ? 'port-without-number' : 'port-without-endpoints',
  );
  return new Map(Array.from(found, ([code, each]) => [code, each.map(portLabel)]));
}
