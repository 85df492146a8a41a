import type { EndpointState } from '../../topology/decide/endpoint.ts';
import { addressFamily, endpointState } from './api-conventions.ts';
import type { Cursor } from './cursor.ts';
import { type ConditionsDraft, readConditions } from './endpoints-facts.ts';
import { ADDRESS, ENDPOINT, ENDPOINTS, REFERENCE, SLICE, SUBSET } from './schema.ts';

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
export type EndpointCorrection =
  | 'cut'
  | { readonly address?: string | undefined; readonly notReady?: boolean | undefined };

/** An endpoint while it is read. */
interface EndpointDraft extends ConditionsDraft {
  node: string;
  address: string;
  readonly ref: { kind: string; namespace: string; name: string; uid: string };
}

function emptyDraft(ready: boolean | undefined): EndpointDraft {
  return {
    node: '',
    address: '',
    ref: { kind: '', namespace: '', name: '', uid: '' },
    ready,
    serving: undefined,
    terminating: undefined,
  };
}

/** The endpoints of a slice on this node that name a Pod. */
export function readSlicePods(slice: Cursor, node: string): PodEndpoint[] {
  const drafts: EndpointDraft[] = [];
  let family = '';
  while (slice.next()) {
    if (slice.field === SLICE.addressType) family = slice.text();
    if (slice.field === SLICE.endpoints) drafts.push(readEndpoint(slice.enter()));
  }
  return podEndpoints(drafts, node, () => family);
}

/** The addresses of an Endpoints object on this node that name a Pod. */
export function readSubsetPods(object: Cursor, node: string): PodEndpoint[] {
  const drafts: EndpointDraft[] = [];
  while (object.next()) {
    if (object.field !== ENDPOINTS.subsets) continue;
    const notReady: EndpointDraft[] = [];
    const subset = object.enter();
    while (subset.next()) {
      if (subset.field === SUBSET.addresses) drafts.push(readAddress(subset.enter(), true));
      if (subset.field === SUBSET.notReadyAddresses) {
        notReady.push(readAddress(subset.enter(), false));
      }
    }
    for (const each of notReady) drafts.push(each);
  }
  return podEndpoints(drafts, node, addressFamily);
}

function podEndpoints(
  drafts: readonly EndpointDraft[],
  localNode: string,
  familyOf: (address: string) => string,
): PodEndpoint[] {
  return drafts.flatMap(({ node, address, ref, ready, serving, terminating }, index) => {
    const { kind, namespace, name, uid } = ref;
    if (node !== localNode || kind !== 'Pod' || name === '') return [];
    return {
      index,
      pod: { namespace, name, uid },
      address,
      family: familyOf(address),
      state: endpointState(ready, serving, terminating),
      publishedNotReady: ready !== false && serving === false,
    };
  });
}

function readEndpoint(endpoint: Cursor): EndpointDraft {
  const draft = emptyDraft(undefined);
  while (endpoint.next()) {
    switch (endpoint.field) {
      case ENDPOINT.addresses:
        draft.address ||= endpoint.text();
        break;
      case ENDPOINT.conditions:
        readConditions(endpoint.enter(), draft);
        break;
      case ENDPOINT.targetRef:
        readReference(endpoint.enter(), draft.ref);
        break;
      case ENDPOINT.nodeName:
        draft.node = endpoint.text();
        break;
    }
  }
  return draft;
}

function readAddress(address: Cursor, ready: boolean): EndpointDraft {
  const draft = emptyDraft(ready);
  while (address.next()) {
    if (address.field === ADDRESS.ip) draft.address = address.text();
    if (address.field === ADDRESS.nodeName) draft.node = address.text();
    if (address.field === ADDRESS.targetRef) readReference(address.enter(), draft.ref);
  }
  return draft;
}

function readReference(reference: Cursor, ref: EndpointDraft['ref']): void {
  while (reference.next()) {
    if (reference.field === REFERENCE.kind) ref.kind = reference.text();
    if (reference.field === REFERENCE.namespace) ref.namespace = reference.text();
    if (reference.field === REFERENCE.name) ref.name = reference.text();
    if (reference.field === REFERENCE.uid) ref.uid = reference.text();
  }
}
