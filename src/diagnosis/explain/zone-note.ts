import type { Endpoint } from '../../topology/decide/endpoint.ts';
import { quote } from '../../topology/policy/quote.ts';
import { ZONE_KEY } from '../../topology/policy/topology-keys.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { ownValue } from '../../topology/state/topology-match.ts';

/**
 * Says why the zone key does not follow what the slice of an endpoint says, or does so although no Node is known;
 * undefined: label and slice agree, or the endpoint is in another zone by both.
 */
export function zoneNote(topology: Topology, { node, zone }: Endpoint): string | undefined {
  const { nodeContext, nodeName, lookups } = topology;
  const own = nodeContext && ownValue(ZONE_KEY, nodeContext);
  if (own === undefined || zone === '' || node === '') return undefined;
  const inZone = topology.matchOf(ZONE_KEY)?.selectors ?? [];
  const isMember = inZone.some((selector) => topology.nodeSets.get(selector)?.members.has(node));
  const says = `its slice still says ${quote(zone)}`;
  if (node === nodeName || isMember) {
    return zone === own ? undefined : `by its label, its node is in this node's zone; ${says}`;
  }
  if (zone !== own) return undefined;
  const label = lookups.zoneOf(node);
  if (label !== undefined && label !== own) {
    return `by its label, its node is in ${label === '' ? 'no zone' : `zone ${label}`}; ${says}`;
  }
  const problem = label === own ? 'the node set does not have it yet' : lookups.problemOf(node);
  const why = problem === undefined ? 'there is no such Node' : `its node is not known: ${problem}`;
  return `its zone is that of its slice, because ${why}`;
}
