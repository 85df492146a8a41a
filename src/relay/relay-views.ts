import type { WrapperError } from '../errors.ts';
import { ENDPOINT_SLICES, type Resource, SERVICES } from '../filter/codec/facts/resource.ts';
import { currentKubeProxyQueries, knownQueryTest } from '../proxy/api/kube-proxy-queries.ts';
import type { Query } from '../proxy/api/query.ts';
import { type OpenView, OpenViews } from '../proxy/views/open-views.ts';
import { ANYONE, type BudgetLimits, type CallerId } from '../proxy/views/view-budget.ts';
import type { ViewLease } from '../proxy/views/view-registry.ts';
import type { ViewSource } from '../proxy/views/view-source.ts';
import { type RelayContext, RelaySource } from './relay-source.ts';

export interface RelayViewsOptions extends RelayContext, BudgetLimits {
  /** See OpenViewsOptions. */
  readonly idleMs: number;
}

/** The share of maxViews that one user may read: all wrappers are one, and each has its own Node. */
const USER_SHARE = 3 / 4;
/** How often lost views are looked for, in milliseconds. */
const LOST_CHECK_MS = 1_000;
/** The last query of each of these is read also while nobody asks, so that a relay that is ready has most at hand. */
const KEPT: readonly Resource[] = [SERVICES, ENDPOINT_SLICES];

/** The views of a relay: one for each query that wrappers have sent. */
export class RelayViews {
  readonly #views: OpenViews;
  readonly #kept = new Map<Resource, OpenView>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: RelayViewsOptions) {
    this.#views = new OpenViews({
      ...options,
      isKubeProxys: knownQueryTest(''),
      shareOf: () => USER_SHARE,
      openSource: (query, role) => new RelaySource(options, query, role),
    });
    for (const query of currentKubeProxyQueries('')) {
      if (KEPT.includes(query.resource)) this.#keep(this.#views.open(query, ANYONE));
    }
    this.#timer = setInterval(() => this.#endLost(), LOST_CHECK_MS).unref();
  }

  /** Why Services or EndpointSlices cannot be served now; undefined: they can. */
  get problem(): string | undefined {
    for (const [{ plural }, { source }] of this.#kept) {
      const problem = problemOf(source)?.message;
      if (problem !== undefined) return problem;
      if (!source.view.started) return `${plural} are not synced yet`;
    }
    return undefined;
  }

  /** Throws `LimitExceeded`, or `Unreachable` if the API server is lost. */
  acquire(query: Query, caller: CallerId): ViewLease {
    const entry = this.#views.open(query, caller);
    const { source } = entry;
    const problem = problemOf(source);
    if (problem !== undefined) throw problem;
    this.#keep(entry);
    this.#views.enter(entry, caller);
    return {
      view: source.view,
      // Any other source has a problem.
      catchUp: (version) => (source as RelaySource).catchUp(version),
      release: () => this.#views.leave(entry, caller),
    };
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#views.close();
  }

  #keep(entry: OpenView): void {
    const { resource, namespace } = entry.source.query;
    const last = this.#kept.get(resource);
    if (!KEPT.includes(resource) || namespace !== '' || last === entry) return;
    this.#kept.set(resource, entry);
    this.#views.pin(entry, 'topology');
    if (last !== undefined) this.#views.unpin(last, 'topology', 'later');
  }

  #endLost(): void {
    for (const source of this.#views.sources) {
      const { view } = source;
      if (view.started && problemOf(source) !== undefined) view.log.endWatches();
    }
  }
}

/** Why a view is not served. */
function problemOf(source: ViewSource): WrapperError | undefined {
  return source.view.refusal ?? (source instanceof RelaySource ? source.problem : undefined);
}
