/*
 * The room `explain`: how this node decides about a Service, and why, as plain data for JSON (explanation.ts).
 *
 * - explain-service.ts, explain-input.ts: the whole explanation of one Service, and what it is made from
 * - policy-origins.ts, explain-outcome.ts: its policy, and what that means for the Service
 * - explain-keys.ts, explain-ports.ts, explain-endpoints.ts: what each key matches, and what was decided about each
 *   port and endpoint; endpoint-reasons.ts, zone-note.ts: why an endpoint is shown or not
 * - explain-warnings.ts: which problems of the catalogue apply
 * - policy-sources.ts, port-title.ts, short-key.ts: names for people
 */

import {
  countEndpoints,
  type Endpoint,
  type EndpointGroup,
  groupsOf,
} from '../../topology/decide/endpoint.ts';
import { type Policy, SERVICE_TOO_LARGE } from '../../topology/policy/policy.ts';
import { ZONE_KEY } from '../../topology/policy/topology-keys.ts';
import { type DecidedEndpoints, explainEndpoints } from './explain-endpoints.ts';
import type { ExplainInput } from './explain-input.ts';
import { explainKey } from './explain-keys.ts';
import { explainOutcome, explainPolicy } from './explain-outcome.ts';
import { explainPorts } from './explain-ports.ts';
import { warningsOf } from './explain-warnings.ts';
import type { ServiceExplanation } from './explanation.ts';
import { zoneNote } from './zone-note.ts';

export type { ExplainedObject } from './explain-endpoints.ts';

/** Explains how this node decides about a Service. Repeats the current decision and changes no state. */
export function explainService(input: ExplainInput): ServiceExplanation {
  const { topology, outcome, objects, origins, since, limits } = input;
  const { service, total, reason } = outcome;
  const isTooLarge = reason === 'service-too-large';
  const active = isTooLarge ? SERVICE_TOO_LARGE : topology.activePolicy(service);
  const policy = active ?? topology.policies.pendingOrActive(service);
  const groups = groupsOf(objects);
  const decided = decideFor(input, active, groups);
  const policyText = explainPolicy(policy, origins);
  const outcomeText = explainOutcome(topology, outcome, decided);
  const ports = decided === undefined ? [] : explainPorts(decided, limits.ports);
  const usesZone = decided?.policy.keys.includes(ZONE_KEY) === true;
  const noteOf = usesZone ? (endpoint: Endpoint) => zoneNote(topology, endpoint) : undefined;
  const listed = explainEndpoints(objects, decided, outcome.kind, limits.endpoints, noteOf);
  const { endpoints, kept, ready } = listed;
  const explanation = {
    service,
    node: topology.nodeName,
    policy: policyText,
    outcome: outcomeText,
    since: since?.toISOString(),
    keys: (policyText.keys ?? []).map((key) => explainKey(topology, key)),
    winners: outcome.winners,
    ports,
    omittedPorts: (decided?.decision.ports.length ?? 0) - ports.length,
    endpoints,
    omitted: countEndpoints(groups) - endpoints.length,
    counts: { total, kept, ready, leftOut: total - kept },
  };
  const { decision } = decided ?? {};
  return { ...explanation, warnings: warningsOf({ ...input, explanation, active, decision }) };
}

function decideFor(
  { topology, outcome: { service, kind } }: ExplainInput,
  policy: Policy | undefined,
  groups: readonly EndpointGroup[],
): DecidedEndpoints | undefined {
  if (policy?.managed !== true || (kind !== 'filtered' && kind !== 'withheld')) return undefined;
  // A minimum of one changes nothing, but the decision counts the endpoints of each key.
  const minReady = policy.minReady ?? policy.keys.map(() => 1);
  const decision = topology.decide(service, groups, { ...policy, minReady });
  return decision && { policy, decision };
}
