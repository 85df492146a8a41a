import type { WrapperError } from '../../errors.ts';
import type { View } from '../../filter/view/view.ts';
import type { PolicyResolver } from '../../topology/policy/policy-resolver.ts';
import { CODECS } from '../api/codecs.ts';
import {
  ALL_SERVICES,
  CURRENT_SLICES,
  isForEndpoints,
  kubeProxyQueryTest,
  ownNodeQuery,
  readsHeadless,
  servicesBeside,
  slicesBeside,
} from '../api/kube-proxy-queries.ts';
import { type Query, queryKey } from '../api/query.ts';
import { OwnNodeHandler } from '../own-watches/own-node-handler.ts';
import type { PolicyLog } from '../own-watches/policy-log.ts';
import { ServicesHandler } from '../own-watches/services-handler.ts';
import { type OpenView, OpenViews } from './open-views.ts';
import { ANYONE, type BudgetLimits, type CallerId, type ViewBudget } from './view-budget.ts';
import { openViewSource, type SourceContext, type ViewSource } from './view-source.ts';

export interface ViewRegistryOptions extends SourceContext, BudgetLimits {
  /** Whether https callers share the budget with the clients of plain http. */
  readonly hasCallers: boolean;
  /** See OpenViewsOptions. */
  readonly idleMs: number;
  readonly policyResolver: PolicyResolver;
  readonly policyLog: PolicyLog;
}

/** The Services that the topology reads. No client has requested them if `default` pins their view too. */
interface TopologyServices {
  readonly entry: OpenView;
  readonly handler: ServicesHandler;
}

/** Shares of maxViews: one https caller, and all clients of plain http together if https is served too. */
const CALLER_SHARE = 1 / 4;
const ANYONE_SHARE = 1 / 2;

/** A view in use; release it exactly once. */
export interface ViewLease {
  readonly view: View;
  /** Rejects with `TooLargeResourceVersion` if the view does not reach this version. Absent: nobody waits for it. */
  readonly catchUp?: (version: bigint | undefined) => Promise<void>;
  release(): void;
}

/**
 * The views that clients have requested, and those that the topology needs: the own Node, and Services as soon as
 * endpoints are requested. kube-proxy requests the same ones, so that they cost one watch.
 *
 * One view is kept open without users: the last one of endpoints that a kube-proxy has read or, until one comes, that of
 * the newest kube-proxy. So explain, the page and check work before kube-proxy is pointed at the wrapper. It is opened
 * with the first request for an explanation, and some time after the start: a kube-proxy that runs already comes
 * earlier, and may be an older one.
 *
 * The room: ViewRegistry knows who needs a view; OpenViews opens, shares and closes them; `openViewSource` connects
 * reflector, projection and view; ViewBudget limits number and memory; DecisionLog logs changed decisions. It serves no
 * requests, and decides nothing about endpoints.
 *
 *     who opens a view                  how many views                         bytes
 *     the topology, or kube-proxy's     no limit: these queries are few        OwnReadMemory: all lists together,
 *       own queries                                                              and the objects of each query
 *     clients of plain http, together   maxViews; half of it if https is on    ViewBudget: maxViewBytes,
 *     each caller of https              a quarter of maxViews                    for all of them together
 */
export class ViewRegistry {
  readonly #options: ViewRegistryOptions;
  readonly #views: OpenViews;
  readonly #ownNode: OwnNodeHandler;
  /** The Services that the topology reads; undefined: none yet. */
  #services: TopologyServices | undefined;
  /** The view of endpoints that remains open without a client, unless the API server refuses its query. */
  #pinned: OpenView | undefined;
  #defaultTimer: NodeJS.Timeout | undefined;

  constructor(options: ViewRegistryOptions) {
    this.#options = options;
    const { hasCallers, topology } = options;
    this.#views = new OpenViews({
      ...options,
      openSource: (query, role) => openViewSource(options, query, CODECS[query.encoding], role),
      isKubeProxys: kubeProxyQueryTest(topology.nodeName),
      shareOf: (caller) => (caller !== ANYONE ? CALLER_SHARE : hasCallers ? ANYONE_SHARE : 1),
    });
    this.#ownNode = new OwnNodeHandler(options.topology, options.logger);
    this.#openOwnNode();
  }

  /** Whether the own Node exists at the API server. */
  get ownNodeExists(): boolean {
    return this.#ownNode.exists;
  }

  /** Whether a kube-proxy has read endpoints in the life of this process. */
  get hasServedKubeProxy(): boolean {
    return this.#pinned?.pinnedBy.has('kube-proxy') === true;
  }

  /** The open views. */
  get sources(): readonly ViewSource[] {
    return this.#views.sources;
  }

  /** Counts all views except kube-proxy's own. */
  get budget(): ViewBudget {
    return this.#views.budget;
  }

  /** Whether kube-proxy makes this query. */
  isKubeProxys(query: Query): boolean {
    return this.#views.isKubeProxys(query);
  }

  /** Number of requests, watches included, that read a view now. */
  users(source: ViewSource): number {
    return this.#views.find(source.query)?.users ?? 0;
  }

  /** For how long no request has read a view, in milliseconds; 0: one reads it now. */
  unusedMs(source: ViewSource): number {
    const entry = this.#views.find(source.query);
    if (entry === undefined) return Infinity;
    return entry.users > 0 ? 0 : performance.now() - entry.idleSince;
  }

  /**
   * Why a view is not served: the API server rejects its query, or there is no room for it. Undefined also for a view
   * that the topology needs, because its failure is more than a client's error.
   */
  refusalOf({ query, view }: ViewSource): WrapperError | undefined {
    return this.#views.find(query)?.pinnedBy.has('topology') ? undefined : view.refusal;
  }

  /**
   * Opens or shares the view of a query for a caller. Throws `LimitExceeded` when there is no room for another view.
   * Kube-proxy's own queries always have room.
   */
  acquire(query: Query, caller: CallerId = ANYONE): ViewLease {
    const services = this.#servicesBeside(query);
    if (services !== undefined) this.#needServices(services);
    this.#needAllServicesBeside(query);
    const entry = this.#views.open(query, caller);
    this.#pinIfKubeProxys(query, entry);
    this.#views.enter(entry, caller);
    return { view: entry.source.view, release: () => this.#views.leave(entry, caller) };
  }

  /**
   * Opens the views of the newest kube-proxy, unless a view of endpoints is kept already. A kube-proxy that comes later
   * shares them, or gets its own if it is older.
   */
  openDefault(): void {
    if (this.#pinned !== undefined && this.#views.isOpen(this.#pinned)) return;
    const query =
      this.#services === undefined
        ? CURRENT_SLICES
        : slicesBeside(this.#services.entry.source.query);
    const services = this.#servicesBeside(query);
    const isDefault = this.#services === undefined;
    if (services !== undefined && isDefault) {
      this.#services = this.#openServices(services);
      this.#views.pin(this.#services.entry, 'default');
    }
    this.#pinned = this.#views.open(query, ANYONE);
    this.#views.pin(this.#pinned, isDefault ? 'default' : 'kube-proxy');
  }

  /** The same, after `ms` milliseconds. */
  openDefaultLater(ms: number): void {
    this.#defaultTimer = setTimeout(() => this.openDefault(), ms).unref();
  }

  /** Ends all reflectors and waits for them. */
  async close(): Promise<void> {
    clearTimeout(this.#defaultTimer);
    await this.#views.close();
  }

  #openOwnNode(): void {
    const query = ownNodeQuery(this.#options.topology.nodeName);
    this.#views.openForTopology(query, { ownNode: this.#ownNode });
  }

  #servicesBeside(query: Query): Query | undefined {
    const { headless } = this.#options.policyResolver.settings;
    return servicesBeside(query, headless, this.#hidesServices);
  }

  get #hidesServices(): boolean {
    const { serviceFilter, withholdsServices } = this.#options;
    return serviceFilter !== undefined || withholdsServices;
  }

  /** Pins the view that a kube-proxy reads instead of the last one. In JSON it counts against the budget, and is not pinned. */
  #pinIfKubeProxys(query: Query, entry: OpenView): void {
    if (!isForEndpoints(query) || !this.#views.isKubeProxys({ ...query, encoding: 'protobuf' }))
      return;
    const before = this.#pinned;
    const isDefault = before?.pinnedBy.delete('default') === true;
    this.#pinned = query.encoding === 'protobuf' ? entry : undefined;
    if (this.#pinned !== undefined) this.#views.pin(this.#pinned, 'kube-proxy');
    if (before === undefined || before === entry) return;
    // A default view of the wrong query is closed now. Later, clients could cause a list with each request.
    this.#views.unpin(before, 'kube-proxy', isDefault ? 'now' : 'later');
  }

  /**
   * The first request decides on the query for the topology's Services, for the life of the process. A default that was
   * wrong is replaced, unless Services can be hidden: then a second watch is simpler than to hand over what is hidden.
   */
  #needServices(query: Query): void {
    const current = this.#services;
    if (current === undefined) {
      this.#services = this.#openServices(query);
    } else if (current.entry.pinnedBy.delete('default')) {
      const isRight = queryKey(current.entry.source.query) === queryKey(query);
      if (!isRight && !this.#hidesServices) this.#services = this.#openServices(query, current);
    }
  }

  /** Whether a headless Service is hidden is written in its labels. Slices that are written by hand do not have these. */
  #needAllServicesBeside(query: Query): void {
    const { serviceFilter, policyResolver } = this.#options;
    const isRead = policyResolver.settings.headless;
    if (serviceFilter === undefined || isRead || !readsHeadless(query)) return;
    const entry = this.#views.find(ALL_SERVICES);
    if (entry === undefined) this.#views.openForTopology(ALL_SERVICES, {});
    else this.#views.pin(entry, 'topology');
  }

  #openServices(query: Query, replaces?: TopologyServices): TopologyServices {
    const replaced = replaces && {
      handler: replaces.handler,
      onReplaced: () => this.#views.unpin(replaces.entry, 'topology', 'now'),
    };
    const handler = new ServicesHandler(this.#options, replaced);
    const entry = this.#views.openForTopology(query, { services: handler });
    if (this.#options.withholdsServices) {
      // Hidden Services follow from the view of slices that kube-proxy itself requests.
      this.#views.openForTopology(slicesBeside(query), { reportsWithheld: true });
    }
    return { entry, handler };
  }
}
