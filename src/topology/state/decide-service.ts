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
  const active = topology.activePolicy(service);
  const pendingOrActive = topology.policies.pendingOrActive(service);
  const input = { policy: active, pendingOrActive, ofOtherProxy, withheld: false };
  if (active?.managed !== true) {
    return { policy: active, outcome: outcomeOf(service, input, groups), decision: undefined };
  }
  topology.lookUpNodes(service, active, groups);
  const decision = topology.decide(service, groups, active);
  const withheld = topology.isWithheld(active, decision);
  const outcome = outcomeOf(service, { ...input, withheld }, groups, decision);
  return { policy: active, outcome, decision };
}
