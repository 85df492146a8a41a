import {
  ALL_SERVICES,
  CURRENT_SLICES,
  isForEndpoints,
  kubeProxyQueryTest,
  ownNodeQuery,
  readsHeadless,
  servicesBefore,
  servicesBeside,
  slicesBeside,
} from '../../client/api/kube-proxy-queries.ts';
import { type Query, queryKey } from '../../client/api/query.ts';
import type { WrapperError } from '../../errors.ts';
import type { PolicyResolver } from '../../topology/policy/policy-resolver.ts';
import { OwnNodeHandler } from '../own-watches/own-node-handler.ts';
import type { PolicyLog } from '../own-watches/policy-log.ts';
import { ServicesHandler } from '../own-watches/services-handler.ts';
import { KubeProxyViews } from './kube-proxy-views.ts';
import { OpenViews } from './open-views.ts';
import type { BudgetLimits, ViewBudget } from './view-budget.ts';
import { ANYONE, type CallerId, type EntryLease, type ViewLease } from './view-entry.ts';
import { openViewSource, type SourceContext, type ViewSource } from './view-source.ts';

export interface ViewRegistryOptions extends SourceContext, BudgetLimits {
  /** Whether https callers share the budget with the clients of plain http. */
  readonly hasCallers: boolean;
  /** See OpenViewsOptions. */
  readonly idleMs: number;
  readonly policyResolver: PolicyResolver;
  readonly policyLog: PolicyLog;
}

/** What has decided on the query for the topology's Services, each more certain than the one before. */
const REASONS = ['default', 'a request for endpoints', 'a request for Services'] as const;
type Reason = (typeof REASONS)[number];

/** The Services that the topology reads. */
interface TopologyServices {
  readonly lease: EntryLease;
  readonly reason: Reason;
}

/** Shares of maxViews: one https caller, and all clients of plain http together if https is served too. */
const CALLER_SHARE = 1 / 4;
const ANYONE_SHARE = 1 / 2;

/**
 * The views that clients have requested, and those that this process needs: the own Node, and Services as soon as
 * endpoints are requested. kube-proxy requests the same ones, so that they cost one watch.
 *
 * The room: ViewRegistry knows what this process needs, and KubeProxyViews what kube-proxy reads; OpenViews opens,
 * shares and closes views by their leases; `openViewSource` connects reflector, projection and view; ViewBudget limits
 * number and memory; DecisionLog logs changed decisions. It serves no requests, and decides nothing about endpoints.
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
  /** The views that explanations, metrics and status are about. */
  readonly kubeProxy: KubeProxyViews;
  /** Undefined: the topology reads no Services yet. */
  #services: TopologyServices | undefined;
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
    this.kubeProxy = new KubeProxyViews(this.#views, () => this.#services?.lease.entry);
    this.#ownNode = new OwnNodeHandler(topology, options.logger);
    this.#views.hold(ownNodeQuery(topology.nodeName), { ownNode: this.#ownNode });
  }

  /** Whether the own Node exists at the API server. */
  get ownNodeExists(): boolean {
    return this.#ownNode.exists;
  }

  /** Labels of the Node of this name that was deleted before the one that exists; undefined: none is known. */
  get lastNodeLabels(): ReadonlyMap<string, string> | undefined {
    return this.#ownNode.lastLabels;
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
    const services = this.#servicesBeside(query);
    const reason = isForEndpoints(query) ? 'a request for endpoints' : 'a request for Services';
    if (services !== undefined) this.#needServices(services, reason);
    this.#needAllServicesBeside(query);
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
    const current = this.#services;
    const query =
      current === undefined ? CURRENT_SLICES : slicesBeside(current.lease.entry.source.query);
    const services = this.#servicesBeside(query);
    if (current === undefined && services !== undefined) this.#openServices(services, 'default');
    this.kubeProxy.keepOpen(query);
  }

  /** The same, after `ms` milliseconds: a kube-proxy that runs already comes earlier, and may be an older one. */
  openDefaultLater(ms: number): void {
    this.#defaultTimer = setTimeout(() => this.openDefault(), ms).unref();
  }

  /** Ends all reflectors and waits for them. */
  async close(): Promise<void> {
    clearTimeout(this.#defaultTimer);
    await this.#views.close();
  }

  #servicesBeside(query: Query): Query | undefined {
    const { headless } = this.#options.policyResolver.settings;
    return servicesBeside(query, headless, this.#hidesServices);
  }

  get #hidesServices(): boolean {
    const { serviceFilter, withholdsServices } = this.#options;
    return serviceFilter !== undefined || withholdsServices;
  }

  /**
   * The first request decides on the query for the topology's Services, for the life of the process. Only a request for
   * Services says which ones its kube-proxy reads. It replaces a guess, which no request has read. If Services can be
   * hidden, a second watch is simpler than to hand over what is hidden.
   */
  #needServices(query: Query, reason: Reason): void {
    const current = this.#services;
    if (current && REASONS.indexOf(current.reason) >= REASONS.indexOf(reason)) return;
    const isRight = current && queryKey(current.lease.entry.source.query) === queryKey(query);
    if (current !== undefined && (isRight || this.#hidesServices)) {
      this.#services = { ...current, reason };
    } else {
      this.#openServices(query, reason);
    }
  }

  /**
   * Whether a headless Service is hidden is written in its labels. Slices that are written by hand do not have these.
   */
  #needAllServicesBeside(query: Query): void {
    const { serviceFilter, policyResolver } = this.#options;
    const isRead = policyResolver.settings.headless;
    if (serviceFilter === undefined || isRead || !readsHeadless(query)) return;
    if (this.#views.find(ALL_SERVICES)?.isNeeded !== true) this.#views.hold(ALL_SERVICES);
  }

  #openServices(query: Query, reason: Reason): void {
    const { lease: last } = this.#services ?? {};
    const services = new ServicesHandler(this.#options);
    const lease = this.#views.hold(query, { services });
    this.#services = { lease, reason };
    last?.release();
    lease.view.whenSettled(() => {
      const older = lease.view.refusal && servicesBefore(query);
      if (older !== undefined && this.#services?.lease === lease) this.#openServices(older, reason);
    });
    if (this.#options.withholdsServices && last === undefined) {
      // Hidden Services follow from the view of slices that kube-proxy itself requests.
      this.#views.hold(slicesBeside(query), { reportsWithheld: true });
    }
  }
}
