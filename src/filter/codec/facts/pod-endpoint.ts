import type { EndpointState } from '../../../topology/decide/endpoint.ts';
import type { Cursor } from '../cursor.ts';
import { addressFamily, endpointState } from './api-conventions.ts';
import { readMessage } from './read-message.ts';
import { ENDPOINTS, SLICE } from './schema.ts';

/** The Pod that an endpoint names in its targetRef. */
export interface PodRef {
  /** Empty: that of the object. */
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

/** The endpoints of a slice on this node that name a Pod. */
export function readSlicePods(slice: Cursor, node: string): PodEndpoint[] {
  const { endpoints, addressType } = readMessage(slice, SLICE);
  return podsOn(
    node,
    endpoints.map(({ nodeName, targetRef, conditions, addresses: [address = ''] }) => {
      return { nodeName, targetRef, conditions, address, family: addressType };
    }),
  );
}

/** The addresses of an Endpoints object on this node that name a Pod. */
export function readSubsetPods(object: Cursor, node: string): PodEndpoint[] {
  const { subsets } = readMessage(object, ENDPOINTS);
  const of = (addresses: (typeof subsets)[number]['addresses'], ready: boolean) =>
    addresses.map(({ nodeName, targetRef, ip }) => {
      const conditions = { ready, serving: undefined, terminating: undefined };
      return { nodeName, targetRef, conditions, address: ip, family: addressFamily(ip) };
    });
  return podsOn(
    node,
    subsets.flatMap((each) => of(each.addresses, true).concat(of(each.notReadyAddresses, false))),
  );
}

interface AnyEndpoint extends Pick<PodEndpoint, 'address' | 'family'> {
  readonly nodeName: string;
  readonly targetRef: PodRef & { readonly kind: string };
  readonly conditions: Readonly<Record<'ready' | 'serving' | 'terminating', boolean | undefined>>;
}

function podsOn(node: string, endpoints: readonly AnyEndpoint[]): PodEndpoint[] {
  return endpoints.flatMap(({ nodeName, targetRef, conditions, address, family }, index) => {
    const { kind, ...pod } = targetRef;
    if (nodeName !== node || kind !== 'Pod' || pod.name === '') return [];
    const { ready, serving, terminating } = conditions;
    return {
      index,
      pod,
      address,
      family,
      state: endpointState(ready, serving, terminating),
      publishedNotReady: ready !== false && serving === false,
    };
  });
}
