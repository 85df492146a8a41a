import { type EndpointNumbers, tallyServices } from '../../diagnosis/reading/service-tally.ts';
import type { ShownState } from '../../server/node-proxy.ts';
import { requireCompleteView, type ViewHead, viewHead } from './explained-view.ts';

/** Services with a problem. */
export interface ServiceList {
  readonly count: number;
  /** The first of them by name. */
  readonly services: readonly string[];
}

/** The response of /summary: what kube-proxy on this node sees, in numbers. */
export interface NodeSummary extends ViewHead {
  /** Endpoints of Services with a policy, and of all other Services. */
  readonly endpoints: { readonly filtered: EndpointNumbers; readonly unfiltered: EndpointNumbers };
  /** Services with a port whose policy leaves none of its endpoints: traffic to it fails on this node. */
  readonly withoutEndpoints: ServiceList;
  /** Services with a port whose policy leaves no ready endpoint, although there are some. */
  readonly withoutReady: ServiceList;
  /** Services with a policy, with a port that has no ready endpoint anywhere. */
  readonly noneReady: ServiceList;
  /** Services whose policy is invalid: all their endpoints are shown. */
  readonly invalidPolicies: ServiceList;
}

/** Maximum number of Services that are named. The others are only counted. */
const MAX_LISTED_SERVICES = 100;

/** Throws `NotReady` if there is no view yet. */
export function nodeSummary(proxy: ShownState): NodeSummary {
  const view = requireCompleteView(proxy);
  const tally = tallyServices(view);
  const { filtered, unfiltered, withoutEndpoints, withoutReady, noneReady } = tally;
  return {
    ...viewHead(proxy, view),
    endpoints: { filtered, unfiltered },
    withoutEndpoints: serviceListOf(withoutEndpoints),
    withoutReady: serviceListOf(withoutReady),
    noneReady: serviceListOf(noneReady),
    invalidPolicies: serviceListOf(tally.invalidPolicy),
  };
}

function serviceListOf(services: readonly string[]): ServiceList {
  return { count: services.length, services: services.toSorted().slice(0, MAX_LISTED_SERVICES) };
}
