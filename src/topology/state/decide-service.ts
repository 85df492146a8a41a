import type { Decision } from '../decide/decide.ts';
import type { EndpointGroup } from '../decide/endpoint.ts';
import { type Policy, SERVICE_TOO_LARGE } from '../policy/policy.ts';
import { outcomeOf, type ServiceOutcome } from './service-outcome.ts';
import type { Topology } from './topology.ts';

export interface DecidedService {
  /** The active one, or what replaces it if nothing can be decided. */
  readonly policy: Policy | undefined;
  readonly outcome: ServiceOutcome;
  /** Undefined: no policy selects endpoints, or the first one is pending. */
  readonly decision: Decision | undefined;
}

/**
 * What this node makes of a Service now, with all its endpoints. The projection, simulate and tests decide with it.
 *
 * @param ofOtherProxy as in KindInput
 */
export function decideService(
  topology: Topology,
  service: string,
  groups: readonly EndpointGroup[],
  ofOtherProxy = false,
): DecidedService {
  const active = topology.activePolicy(service);
  const isManaged = active?.managed === true;
  if (isManaged) topology.lookUpNodes(service, active, groups);
  const decision = isManaged ? topology.decide(service, groups, active) : undefined;
  const policy = isManaged && decision === undefined ? SERVICE_TOO_LARGE : active;
  const pendingOrActive = policy ?? topology.policies.pendingOrActive(service);
  const withheld = isManaged && decision !== undefined && topology.isWithheld(active, decision);
  const input = { policy, pendingOrActive, ofOtherProxy, withheld };
  return { policy, outcome: outcomeOf(service, input, groups, decision), decision };
}
