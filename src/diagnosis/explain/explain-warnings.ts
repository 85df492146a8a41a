import type { Decision } from '../../topology/decide/decide.ts';
import { countEndpoints, portLabel } from '../../topology/decide/endpoint.ts';
import { type Policy, samePolicy } from '../../topology/policy/policy.ts';
import { ANY_KEY, HOSTNAME_KEY } from '../../topology/policy/topology-keys.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { firstFew } from '../../util/first-few.ts';
import { type Problem, problem } from '../catalogue.ts';
import { policyProblems, portProblems } from '../service-problems.ts';
import type { ExplainedObject } from './explain-endpoints.ts';
import { warnOfKey } from './explain-keys.ts';
import type { PolicyOrigin, PortExplanation, ServiceExplanation } from './explanation.ts';
import { originKeysText } from './policy-origins.ts';

/** What warnings are made from. */
export interface WarningsInput {
  readonly topology: Topology;
  readonly explanation: Omit<ServiceExplanation, 'warnings'>;
  /** The active policy; undefined: the first one is pending. */
  readonly active: Policy | undefined;
  /** Undefined: no policy selects endpoints, or the first one is pending. */
  readonly decision: Decision | undefined;
  readonly objects: readonly ExplainedObject[];
  /** As in ExplainInput. */
  readonly hasSelector: boolean;
  readonly isUnlabelled: boolean;
}

/** Everything that an operator may need to know about a Service on this node, probable mistakes first. */
export function warningsOf(input: WarningsInput): readonly Problem[] {
  const { topology, explanation } = input;
  const { policy } = explanation;
  const ofKeys = (policy.keys ?? []).map((key) => [key, warnOfKey(topology, key)] as const);
  const isEmpty = (warnings: readonly Problem[]) =>
    warnings.some(({ code }) => EMPTY_KEY.includes(code));
  const empty = new Set(ofKeys.filter(([, each]) => isEmpty(each)).map(([key]) => key));
  const all = [
    ...warnOfPolicy(input),
    ...warnOfRoom(input),
    ...ofKeys.flatMap(([, each]) => each.map((one) => weigh(one, explanation, empty))),
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
    ? [problem('policy-without-effect', lost), ...problems]
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
const EMPTY_KEY: readonly Problem['code'][] = [
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

function isUnmatched({ keys, without }: PortExplanation): boolean {
  return without !== true && keys.every(({ total }) => total === 0);
}

function warnOfEndpoints(input: WarningsInput): Problem[] {
  const { explanation, decision, objects, hasSelector, isUnlabelled } = input;
  const { outcome, ports, counts, policy } = explanation;
  if (objects.length === 0 && isUnlabelled) return [problem('slice-without-label')];
  if (objects.length === 0 && hasSelector && policy.managed) return [problem('no-slices')];
  if (counts.total === 0) {
    return [
      problem('no-endpoints', hasSelector ? 'no Pod with an address matches its selector' : ''),
    ];
  }
  if (decision === undefined || outcome.kind !== 'filtered') return [];
  const { added } = decision;
  const warnings = [
    ...(decision.ports.length === 0 ? [problem('other-family')] : []),
    ...warnOfWithout(input, decision),
    ...warnOfUnmatched(ports, decision),
    ...warnOfImported(input, decision),
  ];
  for (const port of ports) {
    const { winner, keys, why } = port;
    const won = keys.find(({ key }) => key === winner);
    const about = portLabel(port);
    if (won !== undefined && won.ready > 0 && won.ready < won.needs) {
      warnings.push(problem('too-few-ready', about));
    }
    if ((won?.ready ?? 0) === 0 && keys.some(({ total: matched }) => matched > 0)) {
      warnings.push(problem('none-ready', `${about}: ${why}`));
    }
  }
  warnings.push(...notesOfEndpoints(decision));
  if (added > 0) warnings.push(problem('local-endpoints-kept', added));
  return warnings;
}

function notesOfEndpoints({ groups, counted }: Decision): Problem[] {
  const all = groups.flatMap((group) => group.endpoints);
  const counting = all.filter((_, at) => counted === undefined || counted[at] !== undefined);
  const copies = all.length - counting.length;
  const withoutNode = counting.filter(({ node }) => node === '').length;
  return [
    ...(withoutNode > 0 ? [problem('endpoint-without-node', withoutNode)] : []),
    ...(copies > 0 ? [problem('copies-cut', copies)] : []),
  ];
}

/** Ports that one warning names at most. */
const NAMED_PORTS = 20;

function warnOfWithout(
  { explanation: { ports }, objects }: WarningsInput,
  { classes }: Decision,
): Problem[] {
  const without = ports.filter((each) => each.without === true);
  if (without.length === 0) return [];
  const found = portProblems(without, new Set(objects.flatMap((object) => object.unnumbered())));
  const unused = classes.filter(({ winners }) => winners === 0);
  const others = new Set(unused.flatMap((each) => (each.ports.length === 0 ? 'none' : each.ports)));
  return Array.from(found, ([code, names]) => {
    const about = firstFew(names, NAMED_PORTS);
    if (code === 'port-without-number' || others.size === 0) return problem(code, about);
    return problem(
      code,
      `${about}; endpoints have other ports: ${firstFew([...others], NAMED_PORTS)}`,
    );
  });
}

/** Slices that it names at most. */
const NAMED_SLICES = 5;

/** A key can match an endpoint of another cluster only if nodes of both clusters have one name. */
function warnOfImported(
  { explanation: { policy }, objects }: WarningsInput,
  { masks }: Decision,
): Problem[] {
  const keys = policy.keys ?? [];
  const places = keys.reduce((mask, key, at) => (key === ANY_KEY ? mask : mask | (1 << at)), 0);
  let start = 0;
  const imported = objects.flatMap((object) => {
    const own = masks.subarray(start, start + countEndpoints(object.groups));
    start += own.length;
    if (!own.some((mask) => (mask & places) !== 0)) return [];
    const cluster = object.sourceCluster();
    return cluster === undefined ? [] : [`${object.name} of ${cluster}`];
  });
  return imported.length === 0
    ? []
    : [problem('imported-slices', firstFew(imported, NAMED_SLICES))];
}

/** Each family and port is checked alone: clients connect to one of them. */
function warnOfUnmatched(ports: readonly PortExplanation[], decision: Decision): Problem[] {
  const unmatched = ports.filter(isUnmatched);
  if (unmatched.length === 0) return [];
  const names = unmatched.map(portLabel);
  const areAll = unmatched.length === decision.ports.length;
  return [problem('nothing-matches', areAll ? '' : firstFew(names, NAMED_PORTS))];
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

const HINTS_SOURCES: Readonly<Partial<Record<PolicyOrigin['source'], string>>> = {
  'traffic-distribution': 'spec.trafficDistribution',
  'topology-mode': 'annotation service.kubernetes.io/topology-mode',
};

function noteOfOverride(origin: PolicyOrigin, managed: boolean): Problem[] {
  const { source } = origin;
  const hints = HINTS_SOURCES[source];
  if (hints !== undefined) return managed ? [problem('hints-overridden', hints)] : [];
  return [problem('default-overridden', `${source} (${originKeysText(origin, ', ')})`)];
}
