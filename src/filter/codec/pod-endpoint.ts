import type { EndpointState } from '../../topology/decide/endpoint.ts';
import { endpointState } from './api-conventions.ts';

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

/** Returns how an endpoint changes; undefined: it stays. */
export type CorrectEndpoint = (endpoint: PodEndpoint) => EndpointCorrection | undefined;

/** An endpoint of a slice as it was read. */
export interface EndpointDraft {
  node: string;
  address: string;
  readonly ref: { kind: string; namespace: string; name: string; uid: string };
  readonly conditions: {
    ready: boolean | undefined;
    serving: boolean | undefined;
    terminating: boolean | undefined;
  };
}

export function emptyDraft(): EndpointDraft {
  return {
    ...{ node: '', address: '', ref: { kind: '', namespace: '', name: '', uid: '' } },
    conditions: { ready: undefined, serving: undefined, terminating: undefined },
  };
}

/** What to do with an endpoint; undefined: it stays, because it is not a Pod on the node or because the caller says so. */
export function correctionOf(
  { node, address, ref, conditions }: EndpointDraft,
  family: string,
  only: { readonly node: string; readonly correct: CorrectEndpoint },
): EndpointCorrection | undefined {
  const { kind, namespace, name, uid } = ref;
  if (node !== only.node || kind !== 'Pod' || name === '') return undefined;
  const { ready, serving, terminating } = conditions;
  return only.correct({
    ...{ pod: { namespace, name, uid }, address, family },
    state: endpointState(ready, serving, terminating),
    publishedNotReady: ready !== false && serving === false,
  });
}
