import type { EndpointGroup } from '../../../src/topology/decide/endpoint.ts';
import { outcomeOf, type ServiceOutcome } from '../../../src/topology/state/service-outcome.ts';
import type { Topology } from '../../../src/topology/state/topology.ts';

/** The outcome of a Service that was never decided before. */
export function outcomeNow(
  topology: Topology,
  service: string,
  groups: readonly EndpointGroup[],
  addressOf?: (index: number) => string,
): ServiceOutcome {
  const active = topology.activePolicy(service);
  const pendingOrActive = topology.policies.pendingOrActive(service);
  if (active?.managed !== true) {
    return outcomeOf(service, { policy: active, pendingOrActive, withheld: false }, groups);
  }
  const canDecide = topology.canDecide(active, groups);
  const decision = canDecide ? topology.decide(service, groups, active, addressOf) : undefined;
  const withheld = decision !== undefined && topology.isWithheld(active, decision);
  const policy = canDecide ? active : undefined;
  return outcomeOf(service, { policy, pendingOrActive, withheld }, groups, decision);
}
