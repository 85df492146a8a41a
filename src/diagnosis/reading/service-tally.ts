import type { Query } from '../../client/api/query.ts';
import type { EndpointsProjection } from '../../filter/projection/endpoints-projection.ts';
import type { ShownState } from '../../server/node-proxy.ts';
import {
  type OutcomeProblem,
  type ServiceOutcome,
  winnerText,
} from '../../topology/state/service-outcome.ts';

/** Numbers of endpoints, see ServiceOutcome.total. */
export interface EndpointNumbers {
  /** At the API server. */
  readonly known: number;
  /** Shown to kube-proxy. */
  readonly shown: number;
}

/** What clients of a view see of all Services, counted. */
export interface ServiceTally {
  /** Endpoints of Services whose endpoints a policy selects. */
  readonly filtered: EndpointNumbers;
  /** Endpoints of all other Services. */
  readonly unfiltered: EndpointNumbers;
  /** Number of Services with a policy that is a dry run. */
  readonly dryRuns: number;
  /**
   * Number of Services by the key that won, or by the reason why no key was used. Several keys are `several`: tenants
   * choose which ones, and 12 have 4,095 combinations.
   */
  readonly winners: ReadonlyMap<string, number>;
  /** The Services with each problem, of all ports or of some. */
  readonly problems: Readonly<Record<OutcomeProblem, readonly ServiceOutcome[]>>;
}

/** Counts the Services of a view. With 10,000 of them it takes some milliseconds. */
export function tallyServices(projection: Pick<EndpointsProjection, 'outcomes'>): ServiceTally {
  const filtered = { known: 0, shown: 0 };
  const unfiltered = { known: 0, shown: 0 };
  const winners = new Map<string, number>();
  const problems: Record<OutcomeProblem, ServiceOutcome[]> = {
    withoutEndpoints: [],
    withoutReady: [],
    portMismatch: [],
    noneReady: [],
    'invalid-policy': [],
    'node-set-limit': [],
    'service-too-large': [],
  };
  let dryRuns = 0;
  for (const outcome of projection.outcomes()) {
    const { dryRun, total, kept, problem } = outcome;
    if (dryRun) dryRuns++;
    const sum = isFiltered(outcome) ? filtered : unfiltered;
    sum.known += total;
    sum.shown += dryRun ? total : kept;
    const winner = outcome.winners.length > 1 ? 'several' : winnerText(outcome);
    winners.set(winner, (winners.get(winner) ?? 0) + 1);
    if (problem !== undefined) problems[problem].push(outcome);
  }
  return { filtered, unfiltered, dryRuns, winners, problems };
}

function isFiltered({ kind, dryRun }: ServiceOutcome): boolean {
  return !dryRun && (kind === 'filtered' || kind === 'withheld');
}

/** The Services of a node, counted for all that show it. Each number is counted once, when it is first needed. */
export class ServiceCounts {
  /** Monotonic, in milliseconds. */
  readonly at = performance.now();
  /** Batches before it: see {@link Batches.count}. */
  readonly batches: number;
  readonly #proxy: Pick<ShownState, 'views' | 'topology'>;
  readonly #tallies = new Map<Query, ServiceTally>();
  #policies: ReadonlyMap<string, number> | undefined;

  constructor(proxy: Pick<ShownState, 'views' | 'topology'>) {
    this.#proxy = proxy;
    this.batches = proxy.views.batches;
  }

  /** What clients of a view see; undefined: it is not one of endpoints. */
  of(query: Query | undefined): ServiceTally | undefined {
    const source = this.#proxy.views.sources.find((each) => each.query === query);
    if (source?.projection === undefined) return undefined;
    const tally = this.#tallies.get(source.query) ?? tallyServices(source.projection);
    this.#tallies.set(source.query, tally);
    return tally;
  }

  /** Number of Services by the source of their policy, or by the reason why they have none. */
  get policies(): ReadonlyMap<string, number> {
    this.#policies ??= this.#proxy.topology.policies.countByKind();
    return this.#policies;
  }
}
