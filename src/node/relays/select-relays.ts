import { createHash } from 'node:crypto';
import type { FullGroup } from '../../filter/objects/endpoint-groups.ts';
import type { EndpointGroup, EndpointState } from '../../topology/decide/endpoint.ts';
import type { UnmanagedReason } from '../../topology/policy/policy.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { Address } from '../../util/address.ts';

/** Which relays this node may use, in order; empty: none. */
export interface SelectedRelays {
  readonly addresses: readonly Address[];
  /** Why there can be none; undefined: the policy has selected them. */
  readonly problem?: string;
}

/** The endpoints objects of the Service of the relays, as a decision needs them and with their addresses. */
export interface RelayEndpoints {
  /** `namespace/name`. */
  readonly service: string;
  readonly groups: readonly EndpointGroup[];
  /** The same groups, with all that is read of them. */
  readonly full: readonly FullGroup[];
}

export const MAX_RELAYS = 16;
/** The name of their port, unless they have only one. */
const PORT = 'TCP/https';
/** Relays that are not ready come last: the next one may be ready before them. */
const RANK: Readonly<Record<EndpointState, number>> = { ready: 0, serving: 1, notReady: 2 };

/**
 * Selects relays as kube-proxy would get the endpoints of their Service, also in a dry run and while filtering is
 * switched off on this node. A Service without a policy has relays of all sites, so none is used. Undefined: the first
 * policy is pending, or this node is not known, or the nodes that the policy needs.
 */
export function selectRelays(
  topology: Topology,
  { service, groups, full }: RelayEndpoints,
): SelectedRelays | undefined {
  const policy = topology.relayPolicy(service);
  if (policy === undefined) return undefined;
  if (!policy.managed) return { addresses: [], problem: withoutPolicy(service, policy.reason) };
  topology.lookUpNodes(service, policy, groups);
  const decision = topology.decide(service, groups, policy);
  if (decision === undefined) {
    return { addresses: [], problem: withoutPolicy(service, 'service-too-large') };
  }
  let at = 0;
  const found: { address: Address; rank: number; hash: string }[] = [];
  for (const { ports, endpoints } of full) {
    const port = portOf(ports);
    for (const { addresses, state } of endpoints) {
      const [host] = addresses;
      if (decision.keep[at++] !== 1 || host === undefined || port === 0) continue;
      found.push({
        address: { host, port },
        rank: RANK[state],
        hash: relayOrder(topology.nodeName, host),
      });
    }
  }
  found.sort((a, b) => a.rank - b.rank || (a.hash < b.hash ? -1 : 1));
  return { addresses: found.slice(0, MAX_RELAYS).map(({ address }) => address) };
}

function withoutPolicy(service: string, reason: UnmanagedReason): string {
  return reason === 'unknown-service'
    ? `there is no Service ${service}, or kube-proxy does not read it`
    : `the Service ${service} has no policy that selects relays (${reason})`;
}

/** 0: there is none. */
function portOf(ports: FullGroup['ports']): number {
  const [only, ...others] = ports;
  const named = ports.find(({ key }) => key === PORT);
  return (named ?? (others.length === 0 ? only : undefined))?.number ?? 0;
}

/** Each node has an order of its own (rendezvous hashing), so that two relays share the nodes of their site. */
export function relayOrder(node: string, host: string): string {
  return createHash('sha256').update(`${node} ${host}`).digest('hex');
}
