import type { Decision } from '../decide/decide.ts';
import type { EndpointGroup } from '../decide/endpoint.ts';
import type { Policy } from '../policy/policy.ts';
import { outcomeOf, type ServiceOutcome } from './service-outcome.ts';
import type { Topology } from './topology.ts';

export interface DecidedService {
  /** The active one. */
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
  const policy = topology.activePolicy(service);
  const pendingOrActive = policy ?? topology.policies.pendingOrActive(service);
  const isManaged = policy?.managed === true;
  if (isManaged) topology.lookUpNodes(service, policy, groups);
  const decision = isManaged ? topology.decide(service, groups, policy) : undefined;
  const withheld = isManaged && decision !== undefined && topology.isWithheld(policy, decision);
  const input = { policy, pendingOrActive, ofOtherProxy, withheld };
  return { policy, outcome: outcomeOf(service, input, groups, decision), decision };
}
