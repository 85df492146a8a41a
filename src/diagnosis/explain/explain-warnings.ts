import type { Decision } from '../../topology/decide/decide.ts';
import { countEndpoints, portLabel } from '../../topology/decide/endpoint.ts';
import { type Policy, samePolicy } from '../../topology/policy/policy.ts';
import { ANY_KEY, HOSTNAME_KEY } from '../../topology/policy/topology-keys.ts';
import { namesIn, type Problem, type ProblemCode, problem, problemOf } from '../catalogue.ts';
import { policyProblems, portProblems } from '../service-problems.ts';
import type { ExplainInput } from './explain-input.ts';
import { warnOfKey } from './explain-keys.ts';
import { UNMANAGED } from './explain-outcome.ts';
import type { PolicyOrigin, PortExplanation, ServiceExplanation } from './explanation.ts';
import { originKeysText } from './policy-origins.ts';
import { SOURCES } from './policy-sources.ts';

/** What warnings are made from. */
export interface WarningsInput extends ExplainInput {
  readonly explanation: Omit<ServiceExplanation, 'warnings'>;
  /** The active policy; undefined: the first one is pending. */
  readonly active: Policy | undefined;
  /** Undefined: no policy selects endpoints, or the first one is pending. */
  readonly decision: Decision | undefined;
}

/** Everything that an operator may need to know about a Service on this node, probable mistakes first. */
export function warningsOf(input: WarningsInput): readonly Problem[] {
  const { topology, explanation } = input;
  const { policy } = explanation;
  const ofKeys = (policy.keys ?? []).map((key) => [key, warnOfKey(topology, key)] as const);
  const isEmpty = (warnings: readonly Problem[]) =>
    warnings.some(({ code }) => EMPTY_KEY.includes(code));
  const empty = new Set(ofKeys.filter(([, warnings]) => isEmpty(warnings)).map(([key]) => key));
  const all = [
    ...warnOfPolicy(input),
    ...warnOfRoom(input),
    ...(input.outcome.problem === 'service-too-large' ? [problem('service-too-large')] : []),
    ...ofKeys.flatMap(([, warnings]) => warnings.map((one) => weigh(one, explanation, empty))),
    ...warnOfEndpoints(input),
    ...notes(input),
  ];
  return [
    ...all.filter(({ severity }) => severity === 'warning'),
    ...all.filter(({ severity }) => severity === 'info'),
  ];
}

/** Reasons why a policy on the Service has no effect. */
const WITHOUT_EFFECT = ['headless', 'local-traffic-policy', 'other-proxy'] as const;

function warnOfPolicy({ topology, explanation, active }: WarningsInput): Problem[] {
  const { service, policy } = explanation;
  const { reason, source } = policy;
  const latest = topology.policies.pendingOrActive(service);
  const problems = policyProblems(active ?? latest, latest);
  const own = source === 'annotation' || source === 'openyurt' || source === 'kubeedge';
  const lost = WITHOUT_EFFECT.find((each) => each === reason);
  return own && lost !== undefined
    ? [problem('policy-without-effect', UNMANAGED[lost]), ...problems]
    : problems;
}

/** Which node sets have no room. */
function warnOfRoom({ topology, explanation: { policy, service } }: WarningsInput): Problem[] {
  const active = topology.policies.active(service);
  if (policy.reason !== 'node-set-limit' || active?.managed !== true) return [];
  const warnings = active.keys.flatMap((key) => warnOfKey(topology, key));
  return warnings.filter(({ code }) => code === 'node-set-limit');
}

/** Codes of a key that matches nothing on this node. */
const EMPTY_KEY: readonly ProblemCode[] = [
  'own-label-missing',
  'community-empty',
  'key-without-nodes',
  'key-misspelt',
];

/**
 * A warning about a key that matches nothing on this node is only a note in these cases, if the Service has endpoints
 * here:
 *
 * - the policy is a preset, a default or that of a Namespace: it is for many nodes, and some of them lack a label
 * - another key that describes a place can match here, so the policy works
 * - a key before `*` wins for each port
 */
function weigh(
  warning: Problem,
  { policy: { keys = [], preset, source }, ports }: WarningsInput['explanation'],
  emptyKeys: ReadonlySet<string>,
): Problem {
  if (!EMPTY_KEY.includes(warning.code) || warning.code === 'key-misspelt') return warning;
  if (ports.some(isUnmatched)) return warning;
  const isGeneral = preset !== undefined || source === 'default' || source === 'namespace';
  const hasPlace = keys.some(
    (key) => key !== ANY_KEY && key !== HOSTNAME_KEY && !emptyKeys.has(key),
  );
  const used = ports.filter(({ without }) => without !== true);
  const isNear =
    used.length > 0 && used.every(({ winner }) => winner !== undefined && winner !== ANY_KEY);
  const isNote = isGeneral || hasPlace || isNear;
  return isNote ? { ...warning, severity: 'info', next: undefined } : warning;
}

function warnOfEndpoints(input: WarningsInput): Problem[] {
  const { explanation, decision, objects, hasSelector, isUnlabelled } = input;
  const { outcome, ports, counts, policy } = explanation;
  if (objects.length === 0 && isUnlabelled) return [problem('slice-without-label')];
  if (objects.length === 0 && hasSelector && policy.managed) return [problem('no-slices')];
  if (counts.total === 0) {
    const why = hasSelector ? 'no Pod with an address matches its selector' : '';
    return [problem('no-endpoints', why)];
  }
  if (decision === undefined || outcome.kind !== 'filtered') return [];
  // Each family and port is checked alone: clients connect to one of them.
  const having = (code: ProblemCode, has: (port: PortExplanation) => boolean): Problem[] =>
    problemOf(code, ports.filter(has).map(portLabel));
  const isOfRelays = input.active?.managed === true && input.active.ofRelays === true;
  return [
    ...(decision.ports.length === 0 ? [problem('other-family')] : []),
    ...warnOfWithout(input, decision),
    ...(isOfRelays ? [] : having('nothing-matches', isUnmatched)),
    ...problemOf('imported-slices', importedSlices(input, decision)),
    ...having('too-few-ready', hasTooFew),
    ...(isOfRelays ? [] : having('none-ready', hasNoneReady)),
    ...(isOfRelays && ports.every(({ winner }) => winner === undefined)
      ? [problem('no-relay')]
      : []),
    ...notesOfEndpoints(decision),
  ];
}

function isUnmatched({ keys, without }: PortExplanation): boolean {
  return without !== true && keys.every(({ total }) => total === 0);
}

function hasTooFew({ keys, winner }: PortExplanation): boolean {
  return keys.some(({ key, ready, needs }) => key === winner && ready > 0 && ready < needs);
}

/** kube-proxy also uses endpoints that serve while they terminate: then a key wins. */
function hasNoneReady({ keys, winner }: PortExplanation): boolean {
  return winner === undefined && keys.some(({ total }) => total > 0);
}

/** A policy has no part in this, see portProblems. */
function warnOfWithout(
  { explanation: { ports }, objects }: WarningsInput,
  { classes }: Decision,
): Problem[] {
  const without = ports.filter((each) => each.without === true);
  if (without.length === 0) return [];
  const found = portProblems(without, new Set(objects.flatMap((object) => object.unnumbered())));
  const unused = classes.filter(({ winners }) => winners === 0);
  const others = new Set(unused.flatMap((each) => (each.ports.length === 0 ? 'none' : each.ports)));
  const more = others.size === 0 ? '' : `; endpoints have ${namesIn([...others])}`;
  return Array.from(found, ([code, names]) =>
    problem(code, `${namesIn(names)}${code === 'port-without-endpoints' ? more : ''}`),
  );
}

/** A key can match an endpoint of another cluster only if nodes of both clusters have one name. */
function importedSlices(
  { explanation: { policy }, objects }: WarningsInput,
  { masks }: Decision,
): readonly string[] {
  const keys = policy.keys ?? [];
  const placeMask = keys.reduce((mask, key, at) => (key === ANY_KEY ? mask : mask | (1 << at)), 0);
  let start = 0;
  return objects.flatMap((object) => {
    const own = masks.subarray(start, start + countEndpoints(object.groups));
    start += own.length;
    if (!own.some((mask) => (mask & placeMask) !== 0)) return [];
    const cluster = object.sourceCluster();
    return cluster === undefined ? [] : [`${object.name} of ${cluster}`];
  });
}

function notesOfEndpoints({ groups, counted, added }: Decision): Problem[] {
  const all = groups.flatMap((group) => group.endpoints);
  const counting = all.filter((_, at) => counted === undefined || counted[at] !== undefined);
  const notes = [
    ['endpoint-without-node', counting.filter(({ node }) => node === '').length],
    ['copies-cut', all.length - counting.length],
    ['local-endpoints-kept', added],
  ] as const;
  return notes.flatMap(([code, count]) => (count > 0 ? [problem(code, count)] : []));
}

function notes({ explanation, active, objects, topology }: WarningsInput): Problem[] {
  const { service, policy, outcome } = explanation;
  const hinted = objects.some((object) => object.hinted);
  const notes = [
    ...(outcome.dryRun ? [problem('dry-run')] : []),
    ...policy.overrides.flatMap((origin) => noteOfOverride(origin, policy.managed)),
    ...(policy.managed && hinted ? [problem('hints-cut')] : []),
  ];
  if (active === undefined || outcome.waitsFor.length === 0) return notes;
  const { policies } = topology;
  const isNew =
    policies.withPending.has(service) && !samePolicy(active, policies.pendingOrActive(service));
  const isPending = isNew || topology.hasPending;
  if (!isPending) return notes;
  const what = isNew ? 'the policy' : 'the change of this node';
  return [...notes, problem('change-pending', `${what} needs ${outcome.waitsFor.join('; ')}`)];
}

function noteOfOverride(origin: PolicyOrigin, managed: boolean): Problem[] {
  const { source } = origin;
  const from = SOURCES[source];
  if (source === 'traffic-distribution' || source === 'topology-mode') {
    return managed ? [problem('hints-overridden', from)] : [];
  }
  return [problem('default-overridden', `${from} (${originKeysText(origin, ', ')})`)];
}
