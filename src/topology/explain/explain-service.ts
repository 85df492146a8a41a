/*
 * The room `explain`: how this node decides about a Service, and why, as plain data for JSON (explanation.ts).
 *
 * - explain-service.ts: the whole explanation of one Service
 * - policy-origins.ts, explain-outcome.ts: its policy, and what that means for the Service
 * - explain-keys.ts, explain-ports.ts: what each key matches, and how each port was decided
 * - explain-warnings.ts: probable mistakes
 */

import { countEndpoints, type MatchedDecision } from '../decide/decide.ts';
import type { EndpointGroup } from '../decide/endpoint.ts';
import { endpointReasons, type ReasonOf } from '../decide/endpoint-reasons.ts';
import { STEP, type Steps } from '../decide/steps.ts';
import type { ManagedPolicy, Policy } from '../policy/policy.ts';
import type { Topology } from '../state/topology.ts';
import { explainKey } from './explain-keys.ts';
import { explainOutcome, explainPolicy } from './explain-outcome.ts';
import { decideAsHeld, explainPorts, type PortsInput } from './explain-ports.ts';
import { warningsOf } from './explain-warnings.ts';
import type {
  EndpointExplanation,
  OutcomeKind,
  PolicyOrigin,
  ServiceExplanation,
} from './explanation.ts';

/** An EndpointSlice or Endpoints object of the Service. */
export interface ExplainedObject {
  readonly name: string;
  readonly hinted: boolean;
  readonly groups: readonly EndpointGroup[];
  /** First address of each endpoint, in the order of the groups, flattened. Only read for endpoints that are listed. */
  readonly addresses: readonly string[];
  /** Whether an endpoint, by the same index, is shown now. Only read for a Service without a decision. */
  readonly isShown: (index: number) => boolean;
}

export interface ExplainInput {
  readonly topology: Topology;
  /** `namespace/name`. */
  readonly service: string;
  readonly objects: readonly ExplainedObject[];
  /** See policyOrigins. */
  readonly origins: readonly PolicyOrigin[];
  readonly held: PortsInput['held'];
  readonly timeOf: PortsInput['timeOf'];
  /** Since when the same keys have been winning; undefined: not decided yet. */
  readonly since: Date | undefined;
  readonly limits: ExplainLimits;
}

/** What is listed at most; the rest is only counted. */
export interface ExplainLimits {
  /** Endpoints; those that are kept come first. */
  readonly endpoints: number;
  /** Families and ports; those with problems come first. */
  readonly ports: number;
}

/**
 * Explains how this node decides about a Service, as of the first step. Repeats the current decision and changes no
 * state. Later steps read nothing that may have changed since.
 */
export function* explainService(input: ExplainInput): Steps<ServiceExplanation> {
  const { topology, service, objects, origins, since, limits } = input;
  const inForce = topology.policyInForce(service);
  const policy = inForce ?? topology.policies.wanted(service);
  const decided = inForce?.managed === true ? decideFor(input, inForce) : undefined;
  const cloudOnly = decided !== undefined && topology.isCloudOnly(decided.policy, decided.decision);
  const policyText = explainPolicy(policy, origins);
  const outcome = explainOutcome(topology, service, inForce, cloudOnly);
  const total = countEndpoints(groupsOf(objects));
  const warnings = warningsOf({
    topology,
    service,
    policy: policyText,
    inForce,
    outcome,
    total,
    withoutNode: countWithoutNode(objects),
    hinted: objects.some(({ hinted }) => hinted),
    portCount: decided?.decision.ports.length ?? 0,
  });
  const about = {
    service,
    node: topology.nodeName,
    policy: policyText,
    outcome,
    ...(since === undefined ? {} : { since: since.toISOString() }),
    keys: (policyText.keys ?? []).map((key) => explainKey(topology, key)),
    winners: decided === undefined ? [] : winnersOf(decided),
  };
  const ports = decided === undefined ? [] : yield* explainPorts(decided, limits.ports);
  const { endpoints, kept } = yield* listEndpoints(input, decided, outcome.kind);
  return {
    ...about,
    ports,
    omittedPorts: (decided?.decision.ports.length ?? 0) - ports.length,
    endpoints,
    omitted: total - endpoints.length,
    counts: { total, kept, leftOut: total - kept },
    warnings: warnings(ports),
  };
}

interface Decided extends PortsInput {
  readonly policy: ManagedPolicy;
  readonly decision: MatchedDecision;
}

function decideFor(input: ExplainInput, policy: Extract<Policy, { managed: true }>): Decided {
  const { topology, objects, held, timeOf } = input;
  const ports = { groups: groupsOf(objects), policy, matches: topology.matches, held, timeOf };
  return { ...ports, decision: decideAsHeld(ports) };
}

function groupsOf(objects: readonly ExplainedObject[]): EndpointGroup[] {
  return objects.flatMap(({ groups }) => groups);
}

function countWithoutNode(objects: readonly ExplainedObject[]): number {
  let count = 0;
  for (const { endpoints } of groupsOf(objects)) {
    for (const { node } of endpoints) if (node === '') count++;
  }
  return count;
}

/** Keys that won for any port, each once, in the order of the ports. */
function winnersOf({ policy, decision }: Decided): string[] {
  const won = new Set(decision.ports.map(({ key }) => key));
  return [...won].flatMap((key) => policy.keys[key] ?? []);
}

/** Lists endpoints up to the limit, those that are kept first, and counts all that are kept. */
function* listEndpoints(
  { objects, limits }: ExplainInput,
  decided: Decided | undefined,
  outcome: OutcomeKind,
): Steps<{ readonly endpoints: EndpointExplanation[]; readonly kept: number }> {
  const keep = yield* keptEndpoints(objects, decided, outcome);
  let kept = 0;
  for (const each of keep) kept += each;
  if (limits.endpoints === 0) return { endpoints: [], kept };
  const reasons =
    decided === undefined
      ? undefined
      : yield* endpointReasons(decided.decision, decided.policy.keys);
  const room = {
    kept: limits.endpoints,
    left: limits.endpoints - Math.min(kept, limits.endpoints),
  };
  const lists = { kept: [] as EndpointExplanation[], left: [] as EndpointExplanation[] };
  let start = 0;
  for (const object of objects) {
    let index = 0;
    for (const { ports, endpoints } of object.groups) {
      for (const endpoint of endpoints) {
        const at = { object, ports, endpoint, outcome, index, all: start + index };
        const list = keep[at.all] === 1 ? 'kept' : 'left';
        if (lists[list].length < room[list]) lists[list].push(explainEndpoint(at, list, reasons));
        index++;
        if (index % STEP === 0) yield;
      }
    }
    start += index;
    yield;
  }
  return { endpoints: [...lists.kept, ...lists.left], kept };
}

function explainEndpoint(
  at: {
    readonly object: ExplainedObject;
    readonly ports: readonly string[];
    readonly endpoint: EndpointGroup['endpoints'][number];
    readonly outcome: OutcomeKind;
    /** Index in the object. */
    readonly index: number;
    /** Index among all endpoints. */
    readonly all: number;
  },
  list: 'kept' | 'left',
  reasons: ReasonOf | undefined,
): EndpointExplanation {
  const { object, endpoint, index } = at;
  const { node, zone, state } = endpoint;
  return {
    address: object.addresses[index] ?? '',
    node,
    zone,
    state,
    object: object.name,
    kept: list === 'kept',
    reason: reasons?.(at.ports, endpoint, at.all).reason ?? at.outcome,
  };
}

/** One entry for each endpoint: 1 is kept, 0 is left out. */
function* keptEndpoints(
  objects: readonly ExplainedObject[],
  decided: Decided | undefined,
  outcome: OutcomeKind,
): Steps<Uint8Array> {
  const none = new Uint8Array(countEndpoints(groupsOf(objects)));
  if (outcome === 'withheld') return none;
  if (decided !== undefined) return decided.decision.keep;
  if (outcome === 'unfiltered') return none.fill(1);
  if (outcome !== 'undecided') return none;
  let start = 0;
  for (const { groups, isShown } of objects) {
    const count = countEndpoints(groups);
    for (let index = 0; index < count; index++) if (isShown(index)) none[start + index] = 1;
    start += count;
    yield;
  }
  return none;
}
