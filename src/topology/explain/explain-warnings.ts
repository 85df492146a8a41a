import { type Policy, samePolicy } from '../policy/policy.ts';
import { quote } from '../policy/quote.ts';
import { ANY_KEY, HOSTNAME_KEY } from '../policy/topology-keys.ts';
import type { Topology } from '../state/topology.ts';
import { warnOfKey } from './explain-keys.ts';
import type { PolicyOrigin, PortExplanation, ServiceExplanation, Warning } from './explanation.ts';

/** What warnings are made from. */
export interface WarningsInput {
  readonly topology: Topology;
  readonly explanation: Omit<ServiceExplanation, 'warnings'>;
  /** The active policy; undefined: the first one is pending. */
  readonly active: Policy | undefined;
  /** Number of endpoints without a node. */
  readonly withoutNode: number;
  /** Number of endpoints on this node that are kept only because `externalTrafficPolicy` is Local. */
  readonly added: number;
  /** Ports of endpoints that count for nothing, because the Service lacks all their ports. */
  readonly otherPorts: readonly string[];
  /** Whether an API object has topology hints. */
  readonly hinted: boolean;
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
    return [
      warning(
        'invalid-policy',
        `all endpoints are shown, because the policy is invalid: ${message}`,
      ),
    ];
  }
  const own = source === 'annotation' || source === 'openyurt' || source === 'kubeedge';
  const lost = WITHOUT_EFFECT.find((each) => each === reason);
  if (own && lost !== undefined) {
    const text = `its ${source === 'annotation' ? 'annotation topologyKeys' : `${source} annotation`} has no effect (${lost})`;
    return [warning('policy-without-effect', text)];
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
  return ignored.map((message) => warning('annotation-ignored', message));
}

function warnOfMinReady({ topology, explanation, active }: WarningsInput): Warning[] {
  const policy = active ?? topology.policies.pendingOrActive(explanation.service);
  if (!policy.managed || policy.unusedMinReady === undefined) return [];
  const { unusedMinReady, moreUnusedMinReady: more = 0 } = policy;
  const unused = unusedMinReady.map(quote).join(', ') + (more > 0 ? ` and ${more} more` : '');
  const text = `its min-ready names ${unused}, which are not among its topology keys, so this has no effect`;
  return [warning('min-ready-without-key', text)];
}

function warnOfEndpoints(input: WarningsInput): Warning[] {
  const { explanation, withoutNode, added } = input;
  const { policy, outcome, ports, omittedPorts, counts } = explanation;
  if (counts.total === 0) return [note('no-endpoints', 'the Service has no endpoints at all')];
  if (!policy.managed || outcome.kind !== 'filtered') return [];
  const portCount = ports.length + omittedPorts;
  const warnings = [
    ...warnOfWithout(ports, input.otherPorts),
    ...warnOfUnmatched(ports, portCount, added),
  ];
  for (const { winner, port, family, keys, why } of ports) {
    const won = keys.find(({ key }) => key === winner);
    const about = nameOf(family, port);
    if (won !== undefined && won.ready > 0 && won.ready < won.needs) {
      warnings.push(warning('too-few-ready', `${about}: ${why}`));
    }
    if ((won?.ready ?? 0) === 0 && keys.some(({ total: matched }) => matched > 0)) {
      warnings.push(warning('none-ready', `${about}: ${why}`));
    }
  }
  if (withoutNode > 0) {
    const text = `${withoutNode} endpoints have no node; they match only ${ANY_KEY}`;
    warnings.push(note('endpoint-without-node', text));
  }
  if (added > 0) {
    const text = `externalTrafficPolicy is Local: ${added} endpoints on this node are shown although another key or none wins; traffic inside the cluster uses them too`;
    warnings.push(note('local-endpoints-kept', text));
  }
  return warnings;
}

/** Ports that one warning names at most. */
const NAMED_PORTS = 20;

function listOf(names: readonly string[]): string {
  const more = names.length - NAMED_PORTS;
  return `${names.slice(0, NAMED_PORTS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** A policy has no part in this: kube-proxy matches the ports of Service and slices by name and protocol. */
function warnOfWithout(
  ports: readonly PortExplanation[],
  otherPorts: readonly string[],
): Warning[] {
  const without = ports.filter((each) => each.without === true);
  if (without.length === 0) return [];
  const names = listOf(without.map(({ family, port }) => nameOf(family, port)));
  const others =
    otherPorts.length === 0
      ? ''
      : `; endpoints have ports that the Service lacks: ${listOf(otherPorts)}`;
  const text = `${names}: no endpoint has a port of this name and protocol, so connections fail${others}`;
  return [warning('port-without-endpoints', text)];
}

/** Each family and port is checked alone: clients connect to one of them. */
function warnOfUnmatched(
  ports: readonly PortExplanation[],
  portCount: number,
  added: number,
): Warning[] {
  const unmatched = ports.filter(isUnmatched);
  if (unmatched.length === 0) return [];
  const names = listOf(unmatched.map(({ family, port }) => nameOf(family, port)));
  const about = unmatched.length === portCount ? '' : `${names}: `;
  const advice = `${ANY_KEY} as the last key would allow any endpoint`;
  const result = added === 0 ? 'connections fail' : 'only endpoints on this node are shown';
  const text = `${about}no key matches any endpoint, so ${result}; ${advice}`;
  return [warning('nothing-matches', text)];
}

function nameOf(family: string, port: string): string {
  return `${family} ${port === '' ? 'without port' : port}`;
}

function notes({ explanation, active, hinted, topology }: WarningsInput): Warning[] {
  const { service, policy, outcome } = explanation;
  const notes: Warning[] = [];
  if (outcome.dryRun) {
    notes.push(
      note('dry-run', 'dry run: all endpoints are shown; this is what the policy would do'),
    );
  }
  notes.push(...policy.overrides.flatMap((origin) => noteOfOverride(origin, policy.managed)));
  if (policy.managed && hinted) {
    notes.push(
      note(
        'hints-cut',
        'topology hints are removed, because kube-proxy would apply them to the remaining endpoints',
      ),
    );
  }
  if (active === undefined || outcome.waitsFor.length === 0) return notes;
  const { policies } = topology;
  const isNew =
    policies.withPending.has(service) && !samePolicy(active, policies.pendingOrActive(service));
  if (isNew || topology.hasPending) {
    const what = isNew ? 'a new policy becomes' : 'a change of this node becomes';
    const text = `${what} active once nodes with ${outcome.waitsFor.join('; ')} are known; until then the previous decision remains`;
    notes.push({ code: 'change-pending', severity: 'warning', message: text });
  }
  return notes;
}

/** A Service may request hints itself, and have an annotation that overrides them. */
const HINTS_SOURCES = new Map<PolicyOrigin['source'], string>([
  ['traffic-distribution', 'spec.trafficDistribution'],
  ['topology-mode', 'annotation service.kubernetes.io/topology-mode'],
]);

function noteOfOverride({ source, keys }: PolicyOrigin, managed: boolean): Warning[] {
  const hints = HINTS_SOURCES.get(source);
  if (hints !== undefined) {
    const text = `its topology keys override its own ${hints}: kube-proxy gets no topology hints`;
    return managed ? [note('hints-overridden', text)] : [];
  }
  const what = source === 'default' ? 'the default of the settings' : `the ${source}`;
  return [note('default-overridden', `overrides ${what} (${keys.join(', ')})`)];
}

function warning(code: Warning['code'], message: string): Warning {
  return { code, severity: 'warning', message };
}

function note(code: Warning['code'], message: string): Warning {
  return { code, severity: 'info', message };
}
