import {
  currentKubeProxyQueries,
  knownQueryTest,
  servicesBefore,
} from '../client/api/kube-proxy-queries.ts';
import type { Query } from '../client/api/query.ts';
import type { WrapperError } from '../errors.ts';
import { ENDPOINT_SLICES, type Resource, SERVICES } from '../filter/objects/resource.ts';
import { OpenViews } from '../node/views/open-views.ts';
import type { BudgetLimits, ViewBudget } from '../node/views/view-budget.ts';
import {
  ANYONE,
  type CallerId,
  type EntryLease,
  type ViewLease,
} from '../node/views/view-entry.ts';
import type { ViewSource } from '../node/views/view-source.ts';
import { type RelayContext, RelaySource } from './relay-source.ts';

export interface RelayViewsOptions extends RelayContext, BudgetLimits {
  /** See OpenViewsOptions. */
  readonly idleMs: number;
}

/** The share of maxViews and maxViewBytes that one user has: all wrappers are one, and each has its own Node. */
const USER_SHARE = 3 / 4;
/** How often lost and rejected views are looked for, in milliseconds. */
const CHECK_MS = 1_000;
/**
 * One kube-proxy query for each of these stays open without clients, so that a ready relay can answer most nodes: the
 * query of the newest kube-proxy, or the last one that was listed. No other query of a caller decides whether the
 * relay is ready, because there may be no room for it, or no right to it.
 */
const HELD: readonly Resource[] = [SERVICES, ENDPOINT_SLICES];

/** The views of a relay: one for each query that wrappers have sent. */
export class RelayViews {
  readonly #views: OpenViews;
  readonly #held = new Map<Resource, EntryLease>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: RelayViewsOptions) {
    this.#views = new OpenViews({
      ...options,
      isKubeProxys: knownQueryTest(''),
      shareOf: () => USER_SHARE,
      openSource: (query, role) => new RelaySource(options, query, role),
    });
    for (const query of currentKubeProxyQueries('')) {
      const { resource } = query;
      // As a request, so that it stays for a while when the first wrapper sends another query.
      if (HELD.includes(resource)) this.#held.set(resource, this.#views.acquire(query, ANYONE));
    }
    this.#timer = setInterval(() => {
      this.#endLost();
      this.#replaceRejected();
    }, CHECK_MS).unref();
  }

  /** What stays open without clients. */
  get queries(): readonly Query[] {
    return [...this.#held.values()].map(({ entry }) => entry.source.query);
  }

  /** Why Services or EndpointSlices cannot be served now; undefined: they can. */
  get problem(): string | undefined {
    for (const [{ plural }, { entry }] of this.#held) {
      const { source } = entry;
      const problem = refusalOf(source)?.message;
      if (problem !== undefined) return problem;
      if (!source.view.started) return `${plural} are not synced yet`;
    }
    return undefined;
  }

  /** The open views. */
  get sources(): readonly ViewSource[] {
    return this.#views.sources;
  }

  get budget(): ViewBudget {
    return this.#views.budget;
  }

  /** Whether a wrapper makes the query for its kube-proxy, or for itself. */
  isKubeProxys({ query }: ViewSource): boolean {
    return this.#views.isKubeProxys(query);
  }

  /** Number of requests, watches included, that read a view now. */
  users({ query }: ViewSource): number {
    return this.#views.find(query)?.readers ?? 0;
  }

  /** Why a view is not served: the API server rejects its query, or there is no room for it. */
  refusalOf({ view }: ViewSource): WrapperError | undefined {
    return view.refusal;
  }

  /** Throws `LimitExceeded`, or `Unreachable` if the API server is lost. */
  acquire(query: Query, caller: CallerId): ViewLease {
    const lease = this.#views.acquire(query, caller);
    const { source } = lease.entry;
    const refusal = refusalOf(source);
    if (refusal !== undefined) {
      lease.release();
      throw refusal;
    }
    this.#hold(source);
    // Any other source is refused.
    return { ...lease, catchUp: (version) => (source as RelaySource).catchUp(version) };
  }

  /** Reaches the newest version of all views, so that a relay that began meanwhile continues their watches. */
  async reachNewest(): Promise<void> {
    const sources = this.#views.sources as readonly RelaySource[];
    const started = sources.filter(({ view }) => view.started);
    await Promise.all(started.map((source) => source.reachNewest()));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#views.close();
  }

  #hold({ query, view }: ViewSource): void {
    const { resource } = query;
    if (!HELD.includes(resource) || !this.#views.isKubeProxys(query) || !view.started) return;
    const last = this.#held.get(resource);
    this.#held.set(resource, this.#views.hold(query));
    last?.release();
  }

  /** Holds a query for Services that the API server accepts in place of one that it rejects. */
  #replaceRejected(): void {
    const last = this.#held.get(SERVICES);
    const { query, view } = last?.entry.source ?? {};
    const older = query && view?.refusal && servicesBefore(query, view.refusal);
    if (older === undefined) return;
    this.#held.set(SERVICES, this.#views.acquire(older, ANYONE));
    last?.release();
  }

  #endLost(): void {
    for (const source of this.#views.sources) {
      const { view } = source;
      if (view.started && refusalOf(source) !== undefined) view.log.endWatches();
    }
  }
}

/** Why a view is not served. */
function refusalOf(source: ViewSource): WrapperError | undefined {
  return source.view.refusal ?? (source instanceof RelaySource ? source.refusal : undefined);
}
