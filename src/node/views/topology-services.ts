import {
  ALL_SERVICES,
  CURRENT_SLICES,
  isForEndpoints,
  readsHeadless,
  servicesBefore,
  servicesBeside,
  slicesBeside,
} from '../../client/api/kube-proxy-queries.ts';
import { type Query, queryKey } from '../../client/api/query.ts';
import type { PolicyResolver } from '../../topology/policy/policy-resolver.ts';
import type { PolicyLog } from '../own-watches/policy-log.ts';
import { ServicesHandler } from '../own-watches/services-handler.ts';
import type { OpenViews } from './open-views.ts';
import type { EntryLease, ViewEntry } from './view-entry.ts';
import type { SourceContext } from './view-source.ts';

export interface TopologyServicesOptions extends SourceContext {
  readonly policyResolver: PolicyResolver;
  readonly policyLog: PolicyLog;
}

/** What has decided on the query, each more certain than the one before. */
const REASONS = ['default', 'a request for endpoints', 'a request for Services'] as const;
type Reason = (typeof REASONS)[number];

/** The Services that the topology reads. */
interface CurrentServices {
  readonly lease: EntryLease;
  readonly reason: Reason;
}

/**
 * The view of Services that the topology reads. It has the query of the kube-proxy of this node, so that the two share
 * one watch. Which version of kube-proxy that is shows only in the requests of clients.
 */
export class TopologyServices {
  readonly #views: OpenViews;
  readonly #options: TopologyServicesOptions;
  /** Undefined: the topology reads no Services yet. */
  #current: CurrentServices | undefined;

  constructor(views: OpenViews, options: TopologyServicesOptions) {
    this.#views = views;
    this.#options = options;
  }

  /** The open view; undefined: there is none yet. */
  get entry(): ViewEntry | undefined {
    return this.#current?.lease.entry;
  }

  /** Opens what the topology needs to answer this query of a client, if it needs any Services. */
  openBeside(query: Query): void {
    const services = this.#queryBeside(query);
    const reason = isForEndpoints(query) ? 'a request for endpoints' : 'a request for Services';
    if (services !== undefined) this.#need(services, reason);
    this.#needAllBeside(query);
  }

  /** Opens the view for the newest kube-proxy, unless there is one. Returns the query for its endpoints. */
  openDefault(): Query {
    if (this.entry !== undefined) return slicesBeside(this.entry.source.query);
    const services = this.#queryBeside(CURRENT_SLICES);
    if (services !== undefined) this.#open(services, 'default');
    return CURRENT_SLICES;
  }

  #queryBeside(query: Query): Query | undefined {
    const { headless } = this.#options.policyResolver.settings;
    return servicesBeside(query, headless, this.#hidesServices);
  }

  get #hidesServices(): boolean {
    const { serviceFilter, withholdsServices } = this.#options;
    return serviceFilter !== undefined || withholdsServices;
  }

  /**
   * The first request decides on the query, for the life of the process. Only a request for Services says which ones
   * its kube-proxy reads. It replaces a guess, which no request has read. If Services can be hidden, a second watch is
   * simpler than to hand over what is hidden.
   */
  #need(query: Query, reason: Reason): void {
    const current = this.#current;
    if (current && REASONS.indexOf(current.reason) >= REASONS.indexOf(reason)) return;
    const isRight = current && queryKey(current.lease.entry.source.query) === queryKey(query);
    if (current !== undefined && (isRight || this.#hidesServices)) {
      this.#current = { ...current, reason };
    } else {
      this.#open(query, reason);
    }
  }

  /**
   * Whether a headless Service is hidden is written in its labels. Slices that are written by hand do not have these.
   */
  #needAllBeside(query: Query): void {
    const { serviceFilter, policyResolver } = this.#options;
    const isRead = policyResolver.settings.headless;
    if (serviceFilter === undefined || isRead || !readsHeadless(query)) return;
    if (this.#views.find(ALL_SERVICES)?.isNeeded !== true) this.#views.hold(ALL_SERVICES);
  }

  #open(query: Query, reason: Reason): void {
    const { lease: last } = this.#current ?? {};
    const services = new ServicesHandler(this.#options);
    const lease = this.#views.hold(query, {
      services,
      onRejected: (error) => {
        const current = this.#current;
        const older = servicesBefore(query, error);
        if (older !== undefined && current?.lease === lease) this.#open(older, current.reason);
      },
    });
    this.#current = { lease, reason };
    last?.release();
    if (this.#options.withholdsServices && last === undefined) {
      // Hidden Services follow from the view of slices that kube-proxy itself requests.
      this.#views.hold(slicesBeside(query), { reportsWithheld: true });
    }
  }
}
