import type { Steps } from '../../topology/decide/steps.ts';
import {
  isVisible,
  type OutcomeProblem,
  type ServiceOutcome,
} from '../../topology/explain/service-outcome.ts';
import type { ExplainedView } from './explained-view.ts';

/** Numbers of endpoints. One that is in two slices counts twice. */
export interface EndpointNumbers {
  /** At the API server. */
  readonly known: number;
  /** Shown to kube-proxy. */
  readonly shown: number;
}

/** What kube-proxy sees of all Services, counted; and the Services with each problem. */
export interface ServiceTally extends Readonly<Record<OutcomeProblem, readonly string[]>> {
  /** Services whose endpoints a policy selects. */
  readonly filtered: EndpointNumbers;
  /** All other Services. */
  readonly unfiltered: EndpointNumbers;
}

/** Counts the Services of a view. Each is read when its step runs. */
export function* tallyServices({ projection }: ExplainedView): Steps<ServiceTally> {
  const filtered = { known: 0, shown: 0 };
  const unfiltered = { known: 0, shown: 0 };
  const problems: Record<OutcomeProblem, string[]> = {
    withoutEndpoints: [],
    withoutReady: [],
    noneReady: [],
    invalidPolicy: [],
  };
  for (const outcome of projection.outcomes()) {
    const sum = isFiltered(outcome) ? filtered : unfiltered;
    sum.known += outcome.total;
    sum.shown += shownOf(outcome);
    if (outcome.problem !== undefined) problems[outcome.problem].push(outcome.service);
    yield;
  }
  return { filtered, unfiltered, ...problems };
}

function isFiltered({ kind, dryRun }: ServiceOutcome): boolean {
  return !dryRun && (kind === 'filtered' || kind === 'withheld');
}

function shownOf(outcome: ServiceOutcome): number {
  if (outcome.dryRun) return outcome.total;
  return isVisible(outcome) ? outcome.kept : 0;
}
