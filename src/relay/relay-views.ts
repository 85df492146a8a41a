import type { WrapperError } from '../errors.ts';
import { ENDPOINT_SLICES, type Resource, SERVICES } from '../filter/codec/facts/resource.ts';
import type { View } from '../filter/view/view.ts';
import { currentKubeProxyQueries, knownQueryTest } from '../proxy/api/kube-proxy-queries.ts';
import type { Query } from '../proxy/api/query.ts';
import { type OpenView, OpenViews } from '../proxy/views/open-views.ts';
import { ANYONE, type BudgetLimits, type CallerId } from '../proxy/views/view-budget.ts';
import type { ViewLease } from '../proxy/views/view-registry.ts';
import { type RelayContext, RelaySource } from './relay-source.ts';

export interface RelayViewsOptions extends RelayContext, BudgetLimits {
  /** See OpenViewsOptions. */
  readonly idleMs: number;
}

/** The share of maxViews that one user may read: all wrappers are one, and each has its own Node. */
const USER_SHARE = 3 / 4;
/** How often lost views are looked for, in milliseconds. */
const LOOK_MS = 1_000;
/** The last query of each of these is read also while nobody asks, so that a relay that is ready has most at hand. */
const KEPT: readonly Resource[] = [SERVICES, ENDPOINT_SLICES];

/** The views of a relay: one for each query that wrappers have sent. */
export class RelayViews {
  readonly #views: OpenViews;
  readonly #sources = new WeakMap<View, RelaySource>();
  readonly #kept = new Map<Resource, OpenView>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: RelayViewsOptions) {
    this.#views = new OpenViews({
      ...options,
      isKubeProxys: knownQueryTest(''),
      shareOf: () => USER_SHARE,
      openSource: (query, role) => {
        const source = new RelaySource(options, query, role);
        this.#sources.set(source.view, source);
        return source;
      },
    });
    for (const query of currentKubeProxyQueries('')) {
      if (KEPT.includes(query.resource)) this.#keep(this.#views.open(query, ANYONE));
    }
    this.#timer = setInterval(() => this.#endLost(), LOOK_MS).unref();
  }

  /** Number of open views, and of those that are not served because the API server is lost. */
  get counts(): { readonly open: number; readonly lost: number } {
    const { sources } = this.#views;
    const lost = sources.filter(({ view }) => this.#sources.get(view)?.problem !== undefined);
    return { open: sources.length, lost: lost.length };
  }

  /** Why Services or EndpointSlices cannot be served now; undefined: they can. */
  get problem(): string | undefined {
    for (const [{ plural }, { source }] of this.#kept) {
      const problem = this.#problemOf(source.view)?.message;
      if (problem !== undefined) return problem;
      if (!source.view.started) return `${plural} are not synced yet`;
    }
    return undefined;
  }

  /** Throws `LimitExceeded`, or `Unreachable` if the API server is lost. */
  acquire(query: Query, caller: CallerId): ViewLease {
    const entry = this.#views.open(query, caller);
    const { view } = entry.source;
    const problem = this.#problemOf(view);
    if (problem !== undefined) throw problem;
    this.#keep(entry);
    this.#views.enter(entry, caller);
    let cancel: (() => void) | undefined;
    const source = this.#sources.get(view);
    return {
      view,
      catchUp: async (version) => await source?.catchUp(version),
      onEnd: (callback) => {
        cancel = source?.onEnd(callback);
      },
      release: () => {
        cancel?.();
        this.#views.leave(entry, caller);
      },
    };
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#views.close();
  }

  #problemOf(view: View): WrapperError | undefined {
    return view.refusal ?? this.#sources.get(view)?.problem;
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
    for (const { view } of this.#views.sources) {
      const source = this.#sources.get(view);
      if (source?.problem !== undefined) source.endWatches();
    }
  }
}
