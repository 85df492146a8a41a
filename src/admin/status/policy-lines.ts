import { warnOfKey } from '../../topology/explain/explain-keys.ts';
import type { OutcomeProblem, ServiceOutcome } from '../../topology/state/service-outcome.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { firstFew } from '../../util/first-few.ts';
import type { TimeSlice } from '../explain/time-slice.ts';
import { ok, problem, type StatusLine, warning } from './status-line.ts';

/** Services that a line names. */
const NAMED_SERVICES = 5;

const EXPLAIN = 'see explain NAMESPACE/SERVICE';
const FAILING = problem(
  'policies',
  'connections fail, because a key of the policy is misspelt or its nodes cannot be read',
  `correct the key, or grant the right to list nodes; ${EXPLAIN}`,
);
const INVALID = warning(
  'policies',
  'a policy is invalid, so all endpoints are shown',
  `correct the annotation; ${EXPLAIN}`,
);
const WITHOUT_ROOM = warning(
  'policies',
  'a policy needs a node set that has no room, so all endpoints are shown',
  `raise maxNodeSets, or allow fewer keys with allowedTopologyKeys; ${EXPLAIN}`,
);
const WITHOUT_READY = warning(
  'policies',
  'a policy leaves no ready endpoint, so connections fail',
  `look at the Pods, or end the policy with * if traffic may leave the site; ${EXPLAIN}`,
);
const MISMATCH = warning(
  'policies',
  'no EndpointSlice has a port of the Service, so connections fail',
  `give the Service and its slices the same names of ports; ${EXPLAIN}`,
);
const IGNORED_ANNOTATIONS = warning(
  'policies',
  'annotations are ignored, because they are misspelt, removed or contradict another',
  EXPLAIN,
);
const MISSPELT = warning(
  'policies',
  'a topology key is probably misspelt: this node does not have the label',
  EXPLAIN,
);
const INTENDED = ok(
  'policies',
  'a policy without * has no endpoint here, so connections fail, as it says',
);

/**
 * What is to be said about policies on this node: one line for each kind of finding.
 *
 * Policies are written by tenants, so a mistake in one is a warning, and the node is well. A policy without * says that
 * traffic must fail rather than leave: where it has no endpoint, that is as intended. It is a problem only if traffic
 * fails because of a key that does not do what it says.
 */
export async function policyLines(
  topology: Topology,
  outcomes: readonly ServiceOutcome[],
  slice: TimeSlice,
): Promise<StatusLine[]> {
  const { policies } = topology;
  const misspelt: string[] = [];
  const broken = new Set<string>();
  for (const key of policies.keysInUse()) {
    await slice.pause();
    const codes = warnOfKey(topology, key).map(({ code }) => code);
    if (codes.includes('key-misspelt')) misspelt.push(key);
    if (codes.includes('key-misspelt') || codes.includes('node-set-refused')) broken.add(key);
  }
  const isBroken = ({ service }: ServiceOutcome): boolean => {
    const policy = topology.activePolicy(service);
    return policy?.managed === true && policy.keys.some((key) => broken.has(key));
  };
  const isIgnored = ({ service }: ServiceOutcome) =>
    (policies.pendingOrActive(service).ignored?.length ?? 0) > 0;
  const having = (...kinds: readonly OutcomeProblem[]) =>
    outcomes.filter(({ problem }) => problem !== undefined && kinds.includes(problem));
  const withoutBroken = (kind: OutcomeProblem) =>
    having(kind).filter((outcome) => !isBroken(outcome));
  const lines = [
    ...about(having('withoutEndpoints', 'withoutReady').filter(isBroken), FAILING),
    ...about(having('invalidPolicy'), INVALID),
    ...about(having('noNodeSet'), WITHOUT_ROOM),
    ...about(withoutBroken('withoutReady'), WITHOUT_READY),
    ...about(having('portMismatch'), MISMATCH),
    ...about(outcomes.filter(isIgnored), IGNORED_ANNOTATIONS),
    ...about(misspelt, MISSPELT),
    ...about(withoutBroken('withoutEndpoints'), INTENDED),
  ];
  return lines.length > 0 ? lines : [ok('policies', 'no problem found')];
}

/** The line with the Services or keys that it is about; none if there are none. */
function about(found: readonly (ServiceOutcome | string)[], line: StatusLine): StatusLine[] {
  if (found.length === 0) return [];
  const names = found.map(nameWithPorts).sort();
  return [{ ...line, detail: firstFew(names, NAMED_SERVICES) }];
}

/** A key; or a Service, with the ports that fail if others do not. */
function nameWithPorts(found: ServiceOutcome | string): string {
  if (typeof found === 'string') return found;
  const { service, problemPorts } = found;
  return problemPorts === undefined ? service : `${service} (${problemPorts})`;
}
