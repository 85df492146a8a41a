import { problem } from '../../diagnosis/catalogue.ts';
import { warnOfKey } from '../../diagnosis/explain/explain-keys.ts';
import type { NodeReading } from '../../diagnosis/reading/node-reading.ts';
import type { ServiceTally } from '../../diagnosis/reading/service-tally.ts';
import { quote } from '../../topology/policy/quote.ts';
import { FILTER_ANNOTATION } from '../../topology/policy/service-policy.ts';
import type { ServiceOutcome } from '../../topology/state/service-outcome.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { firstFew } from '../../util/first-few.ts';
import type { TimeSlice } from '../explain/time-slice.ts';
import { missingLabelLines, missingLabels } from './missing-labels.ts';
import { noteLine, policyLine, type StatusLine, warningLine } from './status-line.ts';

/** Services that a line names. */
const NAMED_SERVICES = 5;

const REFUSED = policyLine(problem('node-set-refused'), true);
const INVALID = policyLine(problem('invalid-policy'), false);
const WITHOUT_ROOM = policyLine(problem('node-set-limit'), false);
const TOO_LARGE = policyLine(problem('service-too-large'), false);
const WITHOUT_READY = policyLine(problem('no-endpoint'), false);
const MISMATCH = policyLine(problem('port-without-endpoints'), false);
const IGNORED_ANNOTATIONS = policyLine(problem('annotation-ignored'), false);
/** The policy has no `*`. */
const INTENDED = noteLine(
  'policies',
  'Services fail on this node, as their policies say: no key matches an endpoint',
  '',
);

/**
 * What is to be said about policies on this node: one line for each kind of finding; none: all is well.
 *
 * Policies are written by tenants, so a mistake in one is a warning, and the node is well. A policy without * says that
 * traffic must fail rather than leave: where it has no endpoint, that is a note. It is a problem only if traffic fails
 * because of a key that does not do what it says. Whether a label is on any node, kubectl kpw finds out.
 *
 * @param problems the Services with each problem, as kube-proxy sees them
 * @param lastNode labels of the Node of this name that was deleted
 */
export async function policyLines(
  topology: Topology,
  problems: ServiceTally['problems'],
  lastNode: ReadonlyMap<string, string> | undefined,
  slice: TimeSlice,
): Promise<StatusLine[]> {
  const { policies } = topology;
  const refusedKeys = new Set<string>();
  for (const key of policies.keysInUse()) {
    await slice.pause();
    const codes = warnOfKey(topology, key).map(({ code }) => code);
    if (codes.includes('node-set-refused')) refusedKeys.add(key);
  }
  const uses = ({ service }: ServiceOutcome, keys: ReadonlySet<string>): boolean => {
    const policy = topology.activePolicy(service);
    return policy?.managed === true && policy.keys.some((key) => keys.has(key));
  };
  const isRefused = (outcome: ServiceOutcome) => uses(outcome, refusedKeys);
  const isNotRefused = (outcome: ServiceOutcome) => !isRefused(outcome);
  const failing = [...problems.withoutEndpoints, ...problems.withoutReady];
  const failingNames = new Set(failing.map(({ service }) => service));
  const missing = await missingLabels(topology, (name) => failingNames.has(name), slice);
  const missingKeys = new Set(missing.map(({ key }) => key));
  const ignored: Named[] = [];
  for (const service of policies.services()) {
    await slice.pause();
    if (policies.pendingOrActive(service).ignored !== undefined) ignored.push({ service });
  }
  const isIntended = (outcome: ServiceOutcome) => !uses(outcome, missingKeys);
  const lines = [
    ...about(failing.filter(isRefused), REFUSED),
    ...about(problems['invalid-policy'], INVALID),
    ...about(problems['node-set-limit'], WITHOUT_ROOM),
    ...about(problems['service-too-large'], TOO_LARGE),
    ...about(problems.withoutReady.filter(isNotRefused), WITHOUT_READY),
    ...about(problems.portMismatch, MISMATCH),
    ...about(ignored, IGNORED_ANNOTATIONS),
    ...missingLabelLines(topology, missing, lastNode),
    ...about(problems.withoutEndpoints.filter(isNotRefused).filter(isIntended), INTENDED),
  ];
  return lines;
}

const UNFILTERED = warningLine(
  'policies',
  'filtering is switched off on this node, so kube-proxy gets all endpoints',
  `when it is to filter again: kubectl annotate node <name> ${FILTER_ANNOTATION}-`,
  `annotation ${FILTER_ANNOTATION}=off of the Node`,
);

/** What is to be said about the annotation of the own Node. */
export function nodeFilterLines({
  off,
  wrongFilter,
}: Pick<NodeReading, 'off' | 'wrongFilter'>): StatusLine[] {
  if (wrongFilter === undefined) return off ? [UNFILTERED] : [];
  const text = `the annotation ${FILTER_ANNOTATION} of this Node is neither off nor on, and changes nothing`;
  const next =
    'correct or remove it; a dry run is dryRun in the settings, or an annotation of a Service';
  return [warningLine('policies', text, next, quote(wrongFilter))];
}

/** A Service, with the ports that fail if others do not. */
type Named = Pick<ServiceOutcome, 'service' | 'problemPorts'>;

/** The line with the Services that it is about; none if there are none. */
function about(found: readonly Named[], line: StatusLine): StatusLine[] {
  const sorted = found.toSorted((a, b) => (a.service < b.service ? -1 : 1));
  const [first] = sorted;
  if (first === undefined) return [];
  const names = sorted.map(({ service, problemPorts: ports }) =>
    ports === undefined ? service : `${service} (${ports})`,
  );
  return [{ ...line, detail: firstFew(names, NAMED_SERVICES), service: first.service }];
}
