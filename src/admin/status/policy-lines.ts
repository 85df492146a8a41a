import { warnOfKey } from '../../topology/explain/explain-keys.ts';
import type { OutcomeProblem, ServiceOutcome } from '../../topology/state/service-outcome.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { ok, problem, type StatusLine } from './status-line.ts';

/** Services that a line names. */
const NAMED = 5;

const EXPLAIN = 'see explain NAMESPACE/SERVICE';
const TEXTS: Readonly<Partial<Record<OutcomeProblem, { text: string; next: string }>>> = {
  invalidPolicy: {
    text: 'a policy is invalid, so all endpoints are shown',
    next: `correct the annotation; ${EXPLAIN}`,
  },
  withoutEndpoints: {
    text: 'a policy leaves no endpoint, so connections fail',
    next: `end the policy with * if traffic may leave the site; ${EXPLAIN}`,
  },
  withoutReady: {
    text: 'a policy leaves no ready endpoint, so connections fail',
    next: `end the policy with * if traffic may leave the site; ${EXPLAIN}`,
  },
};

/** What is wrong with policies on this node: one line for each kind of problem. */
export function policyLines(topology: Topology, outcomes: readonly ServiceOutcome[]): StatusLine[] {
  const misspelt = [...topology.policies.keysInUse()].filter((key) =>
    warnOfKey(topology, key).some(({ code }) => code === 'key-misspelt'),
  );
  const ignoredIn = outcomes
    .map(({ service }) => service)
    .filter((service) => (topology.policies.latest(service).ignored?.length ?? 0) > 0);
  const lines = [
    ...Object.entries(TEXTS).flatMap(([kind, { text, next }]) => {
      const found = outcomes.filter((each) => each.problem === kind);
      const services = found.map(({ service }) => service);
      return about(text, next, services).map((line) => ({ ...line, services }));
    }),
    ...about(
      'annotations are ignored, because they are misspelt or contradict another',
      EXPLAIN,
      ignoredIn,
    ).map((line) => ({ ...line, ignoredIn })),
    ...about('a topology key is probably misspelt: no node has the label', EXPLAIN, misspelt).map(
      (line) => ({ ...line, keys: misspelt }),
    ),
  ];
  return lines.length > 0 ? lines : [ok('policies', 'no problem found')];
}

function about(text: string, next: string, names: readonly string[]): StatusLine[] {
  if (names.length === 0) return [];
  const sorted = names.toSorted();
  const more = sorted.length > NAMED ? ` and ${sorted.length - NAMED} more` : '';
  return [problem('policies', text, next, `${sorted.slice(0, NAMED).join(', ')}${more}`)];
}
