import { warnOfKey } from '../../topology/explain/explain-keys.ts';
import type { WarningCode } from '../../topology/explain/explanation.ts';
import type { OutcomeProblem, ServiceOutcome } from '../../topology/state/service-outcome.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { ok, problem, type StatusLine, warning } from './status-line.ts';

/** Services that a line names. */
const NAMED = 5;

const EXPLAIN = 'see explain NAMESPACE/SERVICE';

/**
 * What is to be said about policies on this node: one line for each kind of finding.
 *
 * Policies are written by tenants, so a mistake in one is a warning, and the node is well. A policy without * says that
 * traffic must fail rather than leave: where it has no endpoint, that is as intended. It is a problem only if traffic
 * fails because of a key that does not do what it says.
 */
export function policyLines(topology: Topology, outcomes: readonly ServiceOutcome[]): StatusLine[] {
  const keys = [...topology.policies.keysInUse()];
  const warnsOf = (key: string, warned: WarningCode) =>
    warnOfKey(topology, key).some(({ code }) => code === warned);
  const misspelt = keys.filter((key) => warnsOf(key, 'key-misspelt'));
  const broken = new Set([...misspelt, ...keys.filter((key) => warnsOf(key, 'node-set-refused'))]);
  const isBroken = (service: string): boolean => {
    const policy = topology.activePolicy(service);
    return policy?.managed === true && policy.keys.some((key) => broken.has(key));
  };
  const ignoredIn = outcomes
    .map(({ service }) => service)
    .filter((service) => (topology.policies.latest(service).ignored?.length ?? 0) > 0);
  const having = (...kinds: OutcomeProblem[]): string[] =>
    outcomes.flatMap(({ problem, service }) =>
      problem !== undefined && kinds.includes(problem) ? [service] : [],
    );
  const failing = having('withoutEndpoints', 'withoutReady').filter(isBroken);
  const working = (services: readonly string[]) => services.filter((each) => !isBroken(each));
  const lines = [
    ...aboutServices(
      failing,
      problem(
        'policies',
        'connections fail, because a key of the policy is misspelt or its nodes cannot be read',
        `correct the key, or grant the right to list nodes; ${EXPLAIN}`,
      ),
    ),
    ...aboutServices(
      having('invalidPolicy'),
      warning(
        'policies',
        'a policy is invalid, so all endpoints are shown',
        `correct the annotation; ${EXPLAIN}`,
      ),
    ),
    ...aboutServices(
      working(having('withoutReady')),
      warning(
        'policies',
        'a policy leaves no ready endpoint, so connections fail',
        `look at the Pods, or end the policy with * if traffic may leave the site; ${EXPLAIN}`,
      ),
    ),
    ...about(
      ignoredIn,
      warning(
        'policies',
        'annotations are ignored, because they are misspelt or contradict another',
        EXPLAIN,
      ),
    ).map((line) => ({ ...line, ignoredIn })),
    ...about(
      misspelt,
      warning('policies', 'a topology key is probably misspelt: no node has the label', EXPLAIN),
    ).map((line) => ({ ...line, keys: misspelt })),
    ...aboutServices(
      working(having('withoutEndpoints')),
      ok('policies', 'a policy without * has no endpoint here, so connections fail, as it says'),
    ),
  ];
  return lines.length > 0 ? lines : [ok('policies', 'no problem found')];
}

function aboutServices(services: readonly string[], line: StatusLine): StatusLine[] {
  return about(services, line).map((each) => ({ ...each, services }));
}

function about(names: readonly string[], line: StatusLine): StatusLine[] {
  if (names.length === 0) return [];
  const sorted = names.toSorted();
  const more = sorted.length > NAMED ? ` and ${sorted.length - NAMED} more` : '';
  return [{ ...line, detail: `${sorted.slice(0, NAMED).join(', ')}${more}` }];
}
