/*
 * The room `explain`: how this node decides about a Service, and why, as plain data for JSON (explanation.ts).
 *
 * - explain-service.ts: the whole explanation of one Service
 * - policy-origins.ts, explain-outcome.ts: its policy, and what that means for the Service
 * - explain-keys.ts, explain-ports.ts, explain-endpoints.ts: what each key matches, and what was decided about each port
 *   and endpoint
 * - explain-warnings.ts: probable mistakes
 */

import { countEndpoints, type Decision } from '../decide/decide.ts';
import type { Steps } from '../decide/steps.ts';
import type { ManagedPolicy, Policy } from '../policy/policy.ts';
import type { Topology } from '../state/topology.ts';
import { type ExplainedObject, explainEndpoints, groupsOf } from './explain-endpoints.ts';
import { explainKey } from './explain-keys.ts';
import { explainOutcome, explainPolicy } from './explain-outcome.ts';
import { decideAsHeld, explainPorts, type PortsInput } from './explain-ports.ts';
import { warningsOf } from './explain-warnings.ts';
import type { PolicyOrigin, ServiceExplanation } from './explanation.ts';

export type { ExplainedObject } from './explain-endpoints.ts';

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
  const groups = groupsOf(objects);
  const canDecide = inForce?.managed === true && topology.canDecide(inForce, groups);
  const decided = canDecide ? decideFor(input, inForce) : undefined;
  const cloudOnly = decided !== undefined && topology.isCloudOnly(decided.policy, decided.decision);
  const policyText = explainPolicy(policy, origins);
  const total = countEndpoints(groups);
  const outcome = explainOutcome(
    topology,
    service,
    inForce,
    decided && { ...decided, total, cloudOnly },
  );
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
    added: decided?.decision.added ?? 0,
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
  const { endpoints, kept, ready } = yield* explainEndpoints(
    objects,
    decided,
    outcome.kind,
    limits.endpoints,
  );
  return {
    ...about,
    ports,
    omittedPorts: (decided?.decision.ports.length ?? 0) - ports.length,
    endpoints,
    omitted: total - endpoints.length,
    counts: { total, kept, ready, leftOut: total - kept },
    warnings: warnings(ports),
  };
}

interface Decided extends PortsInput {
  readonly policy: ManagedPolicy;
  readonly decision: Decision;
}

function decideFor(input: ExplainInput, policy: Extract<Policy, { managed: true }>): Decided {
  const { topology, objects, held, timeOf } = input;
  const ports = { groups: groupsOf(objects), policy, matches: topology.matches, held, timeOf };
  return { ...ports, decision: decideAsHeld(ports) };
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
