import { firstFew } from '../../util/first-few.ts';
import type { Decision, PortDecision } from '../decide/decide.ts';
import { type EndpointGroup, portId, portLabel } from '../decide/endpoint.ts';
import { classesByPort, type EndpointClass } from '../decide/endpoint-classes.ts';
import type { Policy, UnmanagedReason } from '../policy/policy.ts';

/**
 * - `filtered`: a policy selects the endpoints that are shown
 * - `unfiltered`: all endpoints are shown
 * - `hidden`: the Service is hidden, because another proxy serves it
 * - `withheld`: the Service is hidden, because all its traffic goes to the cloud
 * - `undecided`: the first policy of the Service waits for node sets. It is hidden, unless the policy is a dry run
 */
export type OutcomeKind = 'filtered' | 'unfiltered' | 'hidden' | 'withheld' | 'undecided';

/**
 * Why the traffic to a port of a Service fails on this node, or its policy has no effect. If ports fail for different
 * reasons, the first of these counts:
 * - `withoutEndpoints`: the port has endpoints, and the policy leaves none
 * - `withoutReady`: the policy leaves none that is ready or serving, although others are
 * - `portMismatch`: no endpoint has the port, and others have ports that the Service lacks
 * - `noneReady`: none is ready or serving, here or elsewhere, so the policy is not the cause
 * - a reason why the policy has no effect
 */
export type OutcomeProblem = PortProblem | (typeof WITHOUT_EFFECT)[number];

/** Reasons why a policy has no effect that its owner expects to have one. */
const WITHOUT_EFFECT = [
  'invalid-policy',
  'node-set-limit',
  'service-too-large',
] as const satisfies readonly UnmanagedReason[];

/** Problems with which kube-proxy gets no endpoint that is ready or serving, the worst first. */
export const PORT_PROBLEMS = [
  'withoutEndpoints',
  'withoutReady',
  'portMismatch',
  'noneReady',
] as const;

export type PortProblem = (typeof PORT_PROBLEMS)[number];

/**
 * What a node makes of a Service. The projection stores one for each Service when it decides. Metrics, /summary,
 * /explain, /status and the decision journal read it, and simulate computes it in the same way.
 */
export interface ServiceOutcome {
  /** `namespace/name`. */
  readonly service: string;
  readonly kind: OutcomeKind;
  /** All endpoints are shown nevertheless; `kept` is what the policy would keep. */
  readonly dryRun: boolean;
  /** Why no policy selects endpoints; undefined: a policy does, or the first one is pending. */
  readonly reason?: UnmanagedReason | undefined;
  /** Keys that won for any port, sorted. */
  readonly winners: readonly string[];
  /** Number of endpoints. Of copies, the one that counts if a policy selects endpoints; otherwise each one. */
  readonly total: number;
  readonly kept: number;
  /** How many of the kept ones are ready. */
  readonly ready: number;
  readonly problem?: OutcomeProblem | undefined;
  /** The ports that have the problem, e.g. `IPv4 TCP/http`, as one text; undefined: all ports. */
  readonly problemPorts?: string | undefined;
}

/** What decides about the kind of an outcome. */
export interface KindInput {
  /** The active one; undefined: the first policy of the Service is not active yet. */
  readonly policy: Policy | undefined;
  /** Counts if there is no active one. */
  readonly pendingOrActive: Policy;
  /** The settings leave the Service to another proxy, by labels that the topology does not read. */
  readonly ofOtherProxy?: boolean;
  /** All traffic of the Service goes to the cloud, to which its address is routed. */
  readonly withheld: boolean;
}

/** What a node makes of a Service, whatever its endpoints are. Pure. */
export function kindOf(input: KindInput): Pick<ServiceOutcome, 'kind' | 'dryRun'> {
  const { policy, pendingOrActive, ofOtherProxy = false, withheld } = input;
  const reason = policy?.managed === false ? policy.reason : undefined;
  // The topology may be newer than the view. A Service appears only once the view has its new labels too.
  if (ofOtherProxy && reason !== 'node-off') return { kind: 'hidden', dryRun: false };
  const dryRun = (policy ?? pendingOrActive).dryRun === true;
  if (policy === undefined) return { kind: 'undecided', dryRun };
  if (policy.managed) return { kind: withheld ? 'withheld' : 'filtered', dryRun };
  return { kind: reason === 'other-proxy' ? 'hidden' : 'unfiltered', dryRun };
}

/** Whether clients do not see a Service, as far as that depends on its first policy. */
export function isHidden({ kind, dryRun }: Pick<ServiceOutcome, 'kind' | 'dryRun'>): boolean {
  return !dryRun && kind !== 'filtered' && kind !== 'unfiltered';
}

/** @param decision of the active policy; undefined: it selects nothing, or the first one is pending */
export function outcomeOf(
  service: string,
  input: KindInput,
  groups: readonly EndpointGroup[],
  decision?: Decision,
): ServiceOutcome {
  const { policy } = input;
  const { kind, dryRun } = kindOf(input);
  const { total, kept, ready } = numbersOf(groups, kind, decision);
  const isFiltered = kind === 'filtered' && policy?.managed === true;
  const canFail = isFiltered && !dryRun && policy.ofRelays !== true;
  const failing = canFail ? failingPorts(decision) : NONE_FAIL;
  const { problem = withoutEffect(policy), problemPorts } = failing;
  const winners = isFiltered ? winnersOf(policy.keys, decision) : [];
  const reason = policy?.managed === false ? policy.reason : undefined;
  return { service, kind, dryRun, reason, winners, total, kept, ready, problem, problemPorts };
}

/** Keys that won for any port, sorted. */
function winnersOf(keys: readonly string[], decision: Decision | undefined): string[] {
  const won: string[] = [];
  for (const { key } of decision?.ports ?? []) {
    const name = keys[key];
    if (name !== undefined && !won.includes(name)) won.push(name);
  }
  if (won.length > 1) won.sort();
  // A list that was appended to has room for 16 more, and each Service keeps one.
  return won.slice();
}

/** The keys that won, or why none was used. */
export function winnerText({ kind, reason, winners }: ServiceOutcome): string {
  if (reason !== undefined) return reason;
  return kind === 'withheld' ? kind : winners.join(', ') || 'none';
}

/** Number of endpoints that the policy keeps; undefined: no policy selects any. */
export function keptByPolicy({ reason, kept }: ServiceOutcome): number | undefined {
  return reason === undefined ? kept : undefined;
}

interface Numbers {
  readonly total: number;
  readonly kept: number;
  readonly ready: number;
}

function numbersOf(
  groups: readonly EndpointGroup[],
  kind: OutcomeKind,
  { keep, counted }: Partial<Decision> = {},
): Numbers {
  const numbers = { total: 0, kept: 0, ready: 0 };
  let index = 0;
  for (const { endpoints } of groups) {
    for (const { state } of endpoints) {
      const at = index++;
      if (counted !== undefined && counted[at] === undefined) continue;
      const isKept = kind === 'unfiltered' || (kind === 'filtered' && keep?.[at] === 1);
      numbers.total++;
      if (!isKept) continue;
      numbers.kept++;
      if (state === 'ready') numbers.ready++;
    }
  }
  return numbers;
}

type FailingPorts = Pick<ServiceOutcome, 'problem' | 'problemPorts'>;

const NONE_FAIL: FailingPorts = {};
/** Ports that an outcome names. */
const NAMED_FAILING = 3;

/** What is wrong with the ports of a Service; nothing if each has an endpoint that kube-proxy can use. */
function failingPorts(decision: Decision | undefined): FailingPorts {
  const { ports = [] } = decision ?? {};
  // A key that won has a ready or serving endpoint. Nearly all Services end here.
  if (decision === undefined || ports.every(({ key }) => key >= 0)) return NONE_FAIL;
  const byPort = classesByPort(decision.classes);
  const mismatched = new Set(mismatchedPorts(decision));
  const byProblem = Map.groupBy(ports, (port) => {
    if (mismatched.has(port)) return 'portMismatch';
    return portProblemOf(port, byPort.get(portId(port))?.having ?? []);
  });
  const problem = PORT_PROBLEMS.find((each) => byProblem.has(each));
  const failing = byProblem.get(problem) ?? [];
  if (problem === undefined || failing.length === ports.length) return { problem };
  const names = failing.slice(0, NAMED_FAILING).map(portLabel);
  return { problem, problemPorts: firstFew(names, NAMED_FAILING, failing.length) };
}

function portProblemOf(
  { key }: PortDecision,
  having: readonly EndpointClass[],
): PortProblem | undefined {
  if (key >= 0 || having.some(({ keptUsable }) => keptUsable)) return undefined;
  if (having.length > 0 && !having.some(({ kept }) => kept)) return 'withoutEndpoints';
  return having.some(({ usable }) => usable) ? 'withoutReady' : 'noneReady';
}

/** Ports that no endpoint has, while endpoints of their family have only ports that the Service lacks. */
export function mismatchedPorts({ ports, classes }: Decision): readonly PortDecision[] {
  const unused = new Set(classes.flatMap((each) => (each.winners === 0 ? [each.family] : [])));
  return ports.filter(({ stage, family }) => stage === 'none' && unused.has(family));
}

function withoutEffect(policy: Policy | undefined): OutcomeProblem | undefined {
  if (policy?.managed !== false) return undefined;
  return WITHOUT_EFFECT.find((reason) => reason === policy.reason);
}
