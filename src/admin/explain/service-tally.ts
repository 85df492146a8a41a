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
    const problem = isFiltered && isVisible ? problemOf(numbers) : undefined;
    if (problem !== undefined) problems[problem].push(service);
    yield;
  }
  return { filtered, unfiltered, ...problems };
}

interface Numbers extends EndpointNumbers {
  /** Known endpoints that are ready or serving. */
  readonly usable: number;
  /** Those of them that are shown. */
  readonly shownUsable: number;
}

function problemOf({ known, shown, usable, shownUsable }: Numbers): Problem | undefined {
  if (known === 0 || shownUsable > 0) return undefined;
  if (shown === 0) return 'withoutEndpoints';
  return usable > 0 ? 'withoutReady' : 'noneReady';
}

function countObjects(objects: readonly EndpointsObject[]): Numbers {
  const numbers = { known: 0, shown: 0, usable: 0, shownUsable: 0 };
  for (const { groups, keep } of objects) {
    // The mask has one entry for each endpoint of all groups.
    let index = 0;
    for (const { endpoints } of groups) {
      for (const endpoint of endpoints) {
        const isShown = keep === undefined || keep[index] === 1;
        const isUsable = isUsed(endpoint);
        numbers.known++;
        numbers.shown += +isShown;
        numbers.usable += +isUsable;
        numbers.shownUsable += +(isShown && isUsable);
        index++;
      }
    }
  }
  return numbers;
}

/** kube-proxy also sends traffic to an endpoint that terminates and still serves, if none is ready. */
function isUsed({ state }: Endpoint): boolean {
  return state !== 'notReady';
}
