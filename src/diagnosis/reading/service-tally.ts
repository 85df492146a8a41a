import type { EndpointsSource } from '../../node/views/view-source.ts';
import type { OutcomeProblem, ServiceOutcome } from '../../topology/state/service-outcome.ts';

/** Numbers of endpoints, see ServiceOutcome.total. */
export interface EndpointNumbers {
  /** At the API server. */
  readonly known: number;
  /** Shown to kube-proxy. */
  readonly shown: number;
}

/** A port that no endpoint has counts as one without a ready endpoint anywhere. */
type TalliedProblem = Exclude<OutcomeProblem, 'portMismatch'>;

/** What kube-proxy sees of all Services, counted; and the Services with each problem, of all ports or of some. */
export interface ServiceTally extends Readonly<Record<TalliedProblem, readonly string[]>> {
  /** Services whose endpoints a policy selects. */
  readonly filtered: EndpointNumbers;
  /** All other Services. */
  readonly unfiltered: EndpointNumbers;
  /** Number of Services with a policy that is a dry run. */
  readonly dryRuns: number;
}

/** Counts the Services of a view. */
export function tallyServices({ projection }: EndpointsSource): ServiceTally {
  const filtered = { known: 0, shown: 0 };
  const unfiltered = { known: 0, shown: 0 };
  const problems: Record<TalliedProblem, string[]> = {
    withoutEndpoints: [],
    withoutReady: [],
    noneReady: [],
    invalidPolicy: [],
    noNodeSet: [],
  };
  let dryRuns = 0;
  for (const outcome of projection.outcomes()) {
    if (outcome.dryRun) dryRuns++;
    const sum = isFiltered(outcome) ? filtered : unfiltered;
    sum.known += outcome.total;
    sum.shown += outcome.dryRun ? outcome.total : outcome.kept;
    const { problem, service } = outcome;
    if (problem !== undefined) {
      problems[problem === 'portMismatch' ? 'noneReady' : problem].push(service);
    }
  }
  return { filtered, unfiltered, dryRuns, ...problems };
}

function isFiltered({ kind, dryRun }: ServiceOutcome): boolean {
  return !dryRun && (kind === 'filtered' || kind === 'withheld');
}
