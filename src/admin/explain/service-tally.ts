import type { EndpointsObject } from '../../filter/projection/endpoint-index.ts';
import type { Endpoint } from '../../topology/decide/endpoint.ts';
import type { Steps } from '../../topology/decide/steps.ts';
import type { ExplainedView } from './explained-view.ts';

/** Numbers of endpoints. One that is in two slices counts twice. */
export interface EndpointNumbers {
  /** At the API server. */
  readonly known: number;
  /** Shown to kube-proxy. */
  readonly shown: number;
}

/** What kube-proxy sees of all Services, counted. */
export interface ServiceTally {
  /** Services whose endpoints a policy selects. */
  readonly filtered: EndpointNumbers;
  /** All other Services. */
  readonly unfiltered: EndpointNumbers;
  /** Services that have endpoints, of which their policy leaves none: their traffic fails on this node. */
  readonly withoutEndpoints: readonly string[];
  /** Services whose policy leaves no endpoint that is ready or serving, although others are: their traffic fails too. */
  readonly withoutReady: readonly string[];
  /** Services with a policy of which no endpoint is ready or serving, here or elsewhere. */
  readonly noneReady: readonly string[];
}

type Problem = 'withoutEndpoints' | 'withoutReady' | 'noneReady';

/**
 * Counts the endpoints of all Services, and finds those whose policy stops their traffic. Reads what was shown last, and
 * decides nothing. A Service that is hidden from kube-proxy shows no endpoints, and that is no problem. Each Service is
 * read when its step runs.
 */
export function* tallyServices({ source, projection }: ExplainedView): Steps<ServiceTally> {
  const filtered = { known: 0, shown: 0 };
  const unfiltered = { known: 0, shown: 0 };
  const problems: Record<Problem, string[]> = {
    ...{ withoutEndpoints: [], withoutReady: [], noneReady: [] },
  };
  for (const service of projection.services()) {
    const { objects } = projection.inspect(service);
    const isVisible = objects.every(({ key }) => source.view.get(key) !== undefined);
    const isFiltered = objects.some(({ managed }) => managed);
    const numbers = countObjects(objects);
    const sum = isFiltered ? filtered : unfiltered;
    sum.known += numbers.known;
    sum.shown += isVisible ? numbers.shown : 0;
    const problem = isFiltered && isVisible ? problemOf(numbers, objects) : undefined;
    if (problem !== undefined) problems[problem].push(service);
    yield;
  }
  return { filtered, unfiltered, ...problems };
}

interface Numbers extends EndpointNumbers {
  /** Whether one that is shown can be used. */
  readonly hasUsable: boolean;
}

function problemOf(
  { known, shown, hasUsable }: Numbers,
  objects: readonly EndpointsObject[],
): Problem | undefined {
  if (known === 0 || hasUsable) return undefined;
  if (shown === 0) return 'withoutEndpoints';
  const isAnyUsable = objects.some(({ groups }) =>
    groups.some(({ endpoints }) => endpoints.some(isUsable)),
  );
  return isAnyUsable ? 'withoutReady' : 'noneReady';
}

/** Each scrape counts all Services, so that endpoints are visited only where a mask or their state requires it. */
function countObjects(objects: readonly EndpointsObject[]): Numbers {
  let known = 0;
  let shown = 0;
  let hasUsable = false;
  for (const { groups, keep } of objects) {
    // The mask has one entry for each endpoint of all groups.
    let offset = known;
    const start = known;
    for (const { endpoints } of groups) {
      known += endpoints.length;
      if (keep === undefined) hasUsable ||= endpoints.some(isUsable);
      else {
        for (const endpoint of endpoints) {
          if (keep[offset++ - start] !== 1) continue;
          shown++;
          hasUsable ||= isUsable(endpoint);
        }
      }
    }
    if (keep === undefined) shown += known - start;
  }
  return { known, shown, hasUsable };
}

/** kube-proxy also sends traffic to an endpoint that terminates and still serves, if none is ready. */
function isUsable({ state }: Endpoint): boolean {
  return state !== 'notReady';
}
