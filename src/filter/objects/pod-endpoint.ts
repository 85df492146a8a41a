import type { EndpointState } from '../../topology/decide/endpoint.ts';
import type { FullGroup } from './endpoint-groups.ts';

/** The Pod that an endpoint names in its targetRef. */
export interface PodRef {
  /** Empty: the namespace of the object. */
  readonly namespace: string;
  readonly name: string;
  /** Empty when absent. */
  readonly uid: string;
}

/** An endpoint whose targetRef names a Pod. */
export interface PodEndpoint {
  /** Its place among all endpoints of the object, in the order of the facts' groups. */
  readonly index: number;
  readonly pod: PodRef;
  /** First of its addresses, the one that kube-proxy uses. */
  readonly address: string;
  /** The slice's addressType; in an Endpoints object, the family of the address. */
  readonly family: string;
  readonly state: EndpointState;
  /** It is ready although it does not serve: its Service has `publishNotReadyAddresses`. */
  readonly publishedNotReady: boolean;
}

/**
 * How one endpoint changes; the rest of it stays.
 * - `cut`: it is removed.
 * - `address`: its only address; absent: its addresses stay.
 * - `notReady`: it is neither ready nor serving. Absent or false: its conditions stay.
 */
export type EndpointCorrection = 'cut' | { readonly address?: string; readonly notReady?: boolean };

/** The endpoints on a node whose targetRef names a Pod. */
export function podEndpoints(groups: readonly FullGroup[], node: string): PodEndpoint[] {
  const endpoints = groups.flatMap((group) => group.endpoints);
  return endpoints.flatMap(({ targetRef, addresses, ...endpoint }, index) => {
    const { kind, ...pod } = targetRef;
    if (endpoint.node !== node || kind !== 'Pod' || pod.name === '') return [];
    const { family, state, publishedNotReady } = endpoint;
    return { index, pod, address: addresses[0] ?? '', family, state, publishedNotReady };
  });
}
