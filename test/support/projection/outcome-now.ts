import type { EndpointGroup } from '../../../src/topology/decide/endpoint.ts';
import { outcomeOf, type ServiceOutcome } from '../../../src/topology/state/service-outcome.ts';
import type { Topology } from '../../../src/topology/state/topology.ts';

/** The outcome of a Service that was never decided before. */
export function outcomeNow(
  topology: Topology,
  service: string,
  groups: readonly EndpointGroup[],
): ServiceOutcome {
  const inForce = topology.activePolicy(service);
  const latest = topology.policies.latest(service);
  if (inForce?.managed !== true) {
    return outcomeOf(service, { policy: inForce, latest, cloudOnly: false }, groups);
  }
  const canDecide = topology.canDecide(inForce, groups);
  const decision = canDecide ? topology.decide(groups, inForce) : undefined;
  const cloudOnly = decision !== undefined && topology.isCloudOnly(inForce, decision);
  const policy = canDecide ? inForce : undefined;
  return outcomeOf(service, { policy, latest, cloudOnly }, groups, decision);
}
