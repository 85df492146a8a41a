import { completeView, notReady } from '../../diagnosis/reading/complete-view.ts';
import type { NodeReader } from '../../diagnosis/reading/node-reading.ts';
import type { EndpointNumbers } from '../../diagnosis/reading/service-tally.ts';
import type { ServiceOutcome } from '../../topology/state/service-outcome.ts';
import { type ViewHead, viewHead } from './explained-view.ts';

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
export function nodeSummary(reader: NodeReader): NodeSummary {
  const { proxy } = reader;
  const view = completeView(proxy);
  const tally = reader.read().services.of(view?.query);
  if (view === undefined || tally === undefined) throw notReady(proxy);
  const { filtered, unfiltered, problems } = tally;
  const { withoutEndpoints, withoutReady, noneReady, portMismatch } = problems;
  return {
    ...viewHead(proxy, view),
    endpoints: { filtered, unfiltered },
    withoutEndpoints: serviceListOf(withoutEndpoints),
    withoutReady: serviceListOf(withoutReady),
    noneReady: serviceListOf([...noneReady, ...portMismatch]),
    invalidPolicies: serviceListOf(problems['invalid-policy']),
  };
}

function serviceListOf(outcomes: readonly ServiceOutcome[]): ServiceList {
  const services = outcomes.map(({ service }) => service).sort();
  return { count: services.length, services: services.slice(0, MAX_LISTED_SERVICES) };
}
