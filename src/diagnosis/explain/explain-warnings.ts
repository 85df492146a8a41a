import type { Decision } from '../../topology/decide/decide.ts';
import { countEndpoints, portLabel } from '../../topology/decide/endpoint.ts';
import { type Policy, samePolicy } from '../../topology/policy/policy.ts';
import { quote } from '../../topology/policy/quote.ts';
import { ANY_KEY, HOSTNAME_KEY } from '../../topology/policy/topology-keys.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { firstFew } from '../../util/first-few.ts';
import type { ExplainedObject } from './explain-endpoints.ts';
import { warnOfKey } from './explain-keys.ts';
import type { PolicyOrigin, PortExplanation, ServiceExplanation } from './explanation.ts';
import { originKeysText } from './policy-origins.ts';
import { type HintsField, type Warning, warn } from './warning-catalogue.ts';

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
export function warningsOf(input: WarningsInput): readonly Warning[] {
  const { topology, explanation } = input;
  const { policy } = explanation;
  const ofKeys = (policy.keys ?? []).map((key) => [key, warnOfKey(topology, key)] as const);
  const isEmpty = (warnings: readonly Warning[]) =>
    warnings.some(({ code }) => EMPTY_KEY.includes(code));
  const empty = new Set(ofKeys.filter(([, each]) => isEmpty(each)).map(([key]) => key));
  const all = [
    ...warnOfPolicy(explanation),
    ...warnOfRoom(input),
    ...warnOfAnnotations(input),
    ...warnOfMinReady(input),
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

function warnOfPolicy({ policy }: WarningsInput['explanation']): Warning[] {
  const { reason, source, message } = policy;
  if (reason === 'invalid-policy') {
    return [warn('invalid-policy', message ?? '')];
  }
  const own = source === 'annotation' || source === 'openyurt' || source === 'kubeedge';
  const lost = WITHOUT_EFFECT.find((each) => each === reason);
  if (own && lost !== undefined) {
    const annotation = source === 'annotation' ? 'annotation topologyKeys' : `${source} annotation`;
    return [warn('policy-without-effect', annotation, lost)];
  }
  return [];
}

/** Which node sets have no room. */
function warnOfRoom({ topology, explanation: { policy, service } }: WarningsInput): Warning[] {
  const active = topology.policies.active(service);
  if (policy.reason !== 'node-set-limit' || active?.managed !== true) return [];
  const warnings = active.keys.flatMap((key) => warnOfKey(topology, key));
  return warnings.filter(({ code }) => code === 'node-set-refused');
}

/** Codes of a key that matches nothing on this node. */
const EMPTY_KEY: readonly Warning['code'][] = [
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
  warning: Warning,
  { policy: { keys = [], preset, source }, ports }: WarningsInput['explanation'],
  emptyKeys: ReadonlySet<string>,
): Warning {
  if (!EMPTY_KEY.includes(warning.code) || warning.code === 'key-misspelt') return warning;
  if (ports.some(isUnmatched)) return warning;
  const isGeneral = preset !== undefined || source === 'default' || source === 'namespace';
  const hasPlace = keys.some(
    (key) => key !== ANY_KEY && key !== HOSTNAME_KEY && !emptyKeys.has(key),
  );
  const used = ports.filter(({ without }) => without !== true);
  const isNear =
    used.length > 0 && used.every(({ winner }) => winner !== undefined && winner !== ANY_KEY);
  return isGeneral || hasPlace || isNear ? { ...warning, severity: 'info' } : warning;
}

function isUnmatched({ keys, without }: PortExplanation): boolean {
  return without !== true && keys.every(({ total }) => total === 0);
}

/** The latest annotations, because a policy that is pending may correct them. */
function warnOfAnnotations({ topology, explanation }: WarningsInput): Warning[] {
  const { ignored = [] } = topology.policies.pendingOrActive(explanation.service);
  return ignored.map((message) => warn('annotation-ignored', message));
}

function warnOfMinReady({ topology, explanation, active }: WarningsInput): Warning[] {
  const policy = active ?? topology.policies.pendingOrActive(explanation.service);
  if (!policy.managed || policy.unusedMinReady === undefined) return [];
  const { unusedMinReady, moreUnusedMinReady: more = 0 } = policy;
  const { length } = unusedMinReady;
  const unused = firstFew(unusedMinReady.map(quote), length, length + more);
  return [warn('min-ready-without-key', unused)];
}

function warnOfEndpoints(input: WarningsInput): Warning[] {
  const { explanation, decision, objects, hasSelector, isUnlabelled } = input;
  const { outcome, ports, counts, policy, service } = explanation;
  if (objects.length === 0 && isUnlabelled) return [warn('slice-without-label')];
  if (objects.length === 0 && hasSelector && policy.managed) return [warn('no-slices', service)];
  if (counts.total === 0) return [warn('no-endpoints', hasSelector)];
  if (decision === undefined || outcome.kind !== 'filtered') return [];
  const { added } = decision;
  const warnings = [
    ...(decision.ports.length === 0 ? [warn('other-family')] : []),
    ...warnOfWithout(input, decision),
    ...warnOfUnmatched(ports, decision),
    ...warnOfImported(input, decision),
  ];
  for (const port of ports) {
    const { winner, keys, why } = port;
    const won = keys.find(({ key }) => key === winner);
    const about = portLabel(port);
    if (won !== undefined && won.ready > 0 && won.ready < won.needs) {
      warnings.push(warn('too-few-ready', about, why));
    }
    if ((won?.ready ?? 0) === 0 && keys.some(({ total: matched }) => matched > 0)) {
      warnings.push(warn('none-ready', about, why));
    }
  }
  warnings.push(...notesOfEndpoints(decision));
  if (added > 0) warnings.push(warn('local-endpoints-kept', added));
  return warnings;
}

function notesOfEndpoints({ groups, counted }: Decision): Warning[] {
  const all = groups.flatMap((group) => group.endpoints);
  const counting = all.filter((_, at) => counted === undefined || counted[at] !== undefined);
  const copies = all.length - counting.length;
  const withoutNode = counting.filter(({ node }) => node === '').length;
  return [
    ...(withoutNode > 0 ? [warn('endpoint-without-node', withoutNode)] : []),
    ...(copies > 0 ? [warn('copies-cut', copies)] : []),
  ];
}

/** Ports that one warning names at most. */
const NAMED_PORTS = 20;

/** A policy has no part in this: kube-proxy matches the ports of Service and slices by name and protocol. */
function warnOfWithout(
  { explanation: { ports }, objects }: WarningsInput,
  { classes }: Decision,
): Warning[] {
  const all = ports.filter((each) => each.without === true);
  if (all.length === 0) return [];
  const unnumbered = new Set(objects.flatMap((object) => object.unnumbered()));
  const numberless = all.filter(({ port }) => unnumbered.has(port)).map(portLabel);
  const without = all.filter(({ port }) => !unnumbered.has(port));
  const ofNumbers =
    numberless.length > 0 ? [warn('port-without-number', firstFew(numberless, NAMED_PORTS))] : [];
  if (without.length === 0) return ofNumbers;
  const unused = classes.filter(({ winners }) => winners === 0);
  const others = new Set(
    unused.flatMap((each) => (each.ports.length === 0 ? 'no port' : each.ports)),
  );
  const names = without.map(portLabel);
  const lists = [firstFew(names, NAMED_PORTS), firstFew([...others], NAMED_PORTS)] as const;
  return [...ofNumbers, warn('port-without-endpoints', ...lists)];
}

/** Slices that it names at most. */
const NAMED_SLICES = 5;

/** A key can match an endpoint of another cluster only if nodes of both clusters have one name. */
function warnOfImported(
  { explanation: { policy }, objects }: WarningsInput,
  { masks }: Decision,
): Warning[] {
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
  return imported.length === 0 ? [] : [warn('imported-slices', firstFew(imported, NAMED_SLICES))];
}

/** Each family and port is checked alone: clients connect to one of them. */
function warnOfUnmatched(ports: readonly PortExplanation[], decision: Decision): Warning[] {
  const unmatched = ports.filter(isUnmatched);
  if (unmatched.length === 0) return [];
  const names = unmatched.map(portLabel);
  const areAll = unmatched.length === decision.ports.length;
  return [warn('nothing-matches', areAll ? '' : firstFew(names, NAMED_PORTS), decision.added > 0)];
}

function notes({ explanation, active, objects, topology }: WarningsInput): Warning[] {
  const { service, policy, outcome } = explanation;
  const hinted = objects.some((object) => object.hinted);
  const notes = [
    ...(outcome.dryRun ? [warn('dry-run')] : []),
    ...policy.overrides.flatMap((origin) => noteOfOverride(origin, policy.managed)),
    ...(policy.managed && hinted ? [warn('hints-cut')] : []),
  ];
  if (active === undefined || outcome.waitsFor.length === 0) return notes;
  const { policies } = topology;
  const isNew =
    policies.withPending.has(service) && !samePolicy(active, policies.pendingOrActive(service));
  const isPending = isNew || topology.hasPending;
  return isPending ? [...notes, warn('change-pending', isNew, outcome.waitsFor)] : notes;
}

const HINTS_SOURCES = new Map<PolicyOrigin['source'], HintsField>([
  ['traffic-distribution', 'spec.trafficDistribution'],
  ['topology-mode', 'annotation service.kubernetes.io/topology-mode'],
]);

function noteOfOverride(origin: PolicyOrigin, managed: boolean): Warning[] {
  const { source } = origin;
  const hints = HINTS_SOURCES.get(source);
  if (hints === undefined) {
    return [warn('default-overridden', source, originKeysText(origin, ', '))];
  }
  return managed ? [warn('hints-overridden', hints)] : [];
}
