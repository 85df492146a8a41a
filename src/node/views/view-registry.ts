import { kubeProxyQueryTest, ownNodeQuery } from '../../client/api/kube-proxy-queries.ts';
import type { Query } from '../../client/api/query.ts';
import type { WrapperError } from '../../errors.ts';
import { LastOwnNode } from '../own-watches/last-own-node.ts';
import { OwnNodeHandler } from '../own-watches/own-node-handler.ts';
import { KubeProxyViews } from './kube-proxy-views.ts';
import { OpenViews } from './open-views.ts';
import { TopologyServices, type TopologyServicesOptions } from './topology-services.ts';
import type { BudgetLimits, ViewBudget } from './view-budget.ts';
import { ANYONE, type CallerId, type ViewLease } from './view-entry.ts';
import { openViewSource, type ViewSource } from './view-source.ts';

export interface ViewRegistryOptions extends TopologyServicesOptions, BudgetLimits {
  /** Whether https callers share the budget with the clients of plain http. */
  readonly hasCallers: boolean;
  /** See OpenViewsOptions. */
  readonly idleMs: number;
}

/** Shares of maxViews: one https caller, and all clients of plain http together if https is served too. */
const CALLER_SHARE = 1 / 4;
const ANYONE_SHARE = 1 / 2;

/**
 * The views that clients have requested, and those that this process needs: the own Node, and Services as soon as
 * endpoints are requested. kube-proxy requests the same ones, so that they cost one watch.
 *
 * The room: TopologyServices knows which Services this process needs, and KubeProxyViews what kube-proxy reads;
 * OpenViews opens, shares and closes views by their leases; `openViewSource` connects reflector, projection and view;
 * ViewBudget limits number and memory; DecisionLog logs changed decisions. It serves no requests, and decides nothing
 * about endpoints.
 *
 *     who opens a view                  how many views                         bytes
 *     this process, or kube-proxy's     no limit: these queries are few        OwnReadMemory: all lists together,
 *       own queries                                                              and the objects of each query
 *     clients of plain http, together   maxViews; half of it if https is on    ViewBudget: maxViewBytes,
 *     each caller of https              a quarter of maxViews                    for all of them together
 */
export class ViewRegistry {
  readonly #options: ViewRegistryOptions;
  readonly #views: OpenViews;
  readonly #ownNode: OwnNodeHandler;
  readonly #lastNode: LastOwnNode;
  /** The views that explanations, metrics and status are about. */
  readonly kubeProxy: KubeProxyViews;
  readonly #topologyServices: TopologyServices;
  #defaultTimer: NodeJS.Timeout | undefined;

  constructor(options: ViewRegistryOptions) {
    this.#options = options;
    const { hasCallers, topology } = options;
    this.#views = new OpenViews({
      ...options,
      openSource: (query, role) => openViewSource(options, query, role),
      isKubeProxys: kubeProxyQueryTest(topology.nodeName),
      shareOf: (caller) => (caller !== ANYONE ? CALLER_SHARE : hasCallers ? ANYONE_SHARE : 1),
    });
    const services = new TopologyServices(this.#views, options);
    this.#topologyServices = services;
    this.kubeProxy = new KubeProxyViews(this.#views, () => services.entry);
    this.#lastNode = new LastOwnNode(options.snapshots);
    this.#ownNode = new OwnNodeHandler(topology, this.#lastNode, options.logger);
    this.#views.hold(ownNodeQuery(topology.nodeName), { ownNode: this.#ownNode });
  }

  /** Whether the own Node exists at the API server. */
  get ownNodeExists(): boolean {
    return this.#ownNode.exists;
  }

  /** A value of the annotation of the own Node for the filter that means nothing; undefined: it has none. */
  get wrongNodeFilter(): string | undefined {
    return this.#ownNode.wrongFilter;
  }

  /** Labels of the Node of this name that was deleted before the one that exists; undefined: none is known. */
  get lastNodeLabels(): ReadonlyMap<string, string> | undefined {
    return this.#lastNode.labels;
  }

  /** The open views. */
  get sources(): readonly ViewSource[] {
    return this.#views.sources;
  }

  /** See {@link Batches.count}. */
  get batches(): number {
    return this.#options.batches.count;
  }

  /** Counts all views except kube-proxy's own. */
  get budget(): ViewBudget {
    return this.#views.budget;
  }

  /** See {@link KubeProxyViews.includes}. */
  isKubeProxys(source: ViewSource): boolean {
    return this.kubeProxy.includes(source);
  }

  /** Number of requests, watches included, that read a view now. */
  users(source: ViewSource): number {
    return this.#views.find(source.query)?.readers ?? 0;
  }

  /** For how long no request has read a view, in milliseconds; 0: one reads it now. */
  unusedMs(source: ViewSource): number {
    const entry = this.#views.find(source.query);
    if (entry === undefined) return Infinity;
    return entry.readers > 0 ? 0 : performance.now() - entry.idleSince;
  }

  /**
   * Why a view is not served: the API server rejects its query, or there is no room for it. Undefined also for a view
   * that this process needs, because its failure is more than a client's error.
   */
  refusalOf({ query, view }: ViewSource): WrapperError | undefined {
    return this.#views.find(query)?.isNeeded ? undefined : view.refusal;
  }

  /**
   * Opens or shares the view of a query for a caller. Throws `LimitExceeded` when there is no room for another view.
   * Kube-proxy's own queries always have room.
   */
  acquire(query: Query, caller: CallerId = ANYONE): ViewLease {
    this.#topologyServices.openBeside(query);
    const lease = this.#views.acquire(query, caller);
    this.kubeProxy.reportRead(lease.entry);
    const release = (): void => {
      lease.release();
      this.kubeProxy.reportEnd(lease.entry);
    };
    return { ...lease, release };
  }

  /**
   * Opens the views of the newest kube-proxy, unless one of a kube-proxy is open, so that explain and the page work
   * before kube-proxy is pointed at the wrapper. A kube-proxy that comes later shares them, or gets its own if it is
   * older.
   */
  openDefault(): void {
    if (this.kubeProxy.isOpen) return;
    this.kubeProxy.keepOpen(this.#topologyServices.openDefault());
  }

  /** The same, after `ms` milliseconds: a kube-proxy that runs already comes earlier, and may be an older one. */
  openDefaultLater(ms: number): void {
    this.#defaultTimer = setTimeout(() => this.openDefault(), ms).unref();
  }

  /** Ends all reflectors and waits for them. */
  async close(): Promise<void> {
    clearTimeout(this.#defaultTimer);
    await this.#views.close();
    this.#lastNode.close();
  }
}
