import { isForEndpoints, slicesBeside } from '../../client/api/kube-proxy-queries.ts';
import type { Query } from '../../client/api/query.ts';
import { SERVICES } from '../../filter/objects/resource.ts';
import { isSubdomain } from '../../topology/policy/label.ts';
import type { OpenViews } from './open-views.ts';
import type { EntryLease, ViewEntry } from './view-entry.ts';
import { type EndpointsSource, isEndpointsSource, type ViewSource } from './view-source.ts';

/** A kube-proxy that is refused tries again at the latest after 30 s (client-go); in ms. */
const REFUSED_MS = 60_000;

/**
 * The views that the kube-proxy of this node reads, or that the newest one would read until one comes.
 *
 * A reader is recognised only by its query. Until there is a kube-proxy, any client that reads all namespaces counts.
 * Another client may have the query of an older kube-proxy for one collection: a kube-proxy also
 * reads the other collection with the same selectors. Of equals the first one remains: the other may be curl's.
 *
 * The view of endpoints remains open without a request, so that explain, the page and metrics work while kube-proxy is
 * away. One in JSON does not, because it counts in the budget.
 */
export class KubeProxyViews {
  readonly #views: OpenViews;
  readonly #topologyServices: () => ViewEntry | undefined;
  /** The open views of all namespaces that a request has read. */
  readonly #seen = new Set<ViewEntry>();
  #services: ViewEntry | undefined;
  #endpoints: ViewEntry | undefined;
  #held: EntryLease | undefined;
  #hasRead = false;
  #otherNode: { readonly name: string; readonly at: number } | undefined;

  /** @param topologyServices the view of Services that the topology reads */
  constructor(views: OpenViews, topologyServices: () => ViewEntry | undefined) {
    this.#views = views;
    this.#topologyServices = topologyServices;
  }

  /** Whether a kube-proxy has read endpoints in the life of this process. */
  get hasRead(): boolean {
    return this.#hasRead;
  }

  /** The Node that a client was refused in the last minute, because it is not the own one. */
  get otherNode(): string | undefined {
    const { name, at } = this.#otherNode ?? { at: -Infinity };
    return performance.now() - at < REFUSED_MS ? name : undefined;
  }

  /** A client reads the Node of this name as kube-proxy does, and is refused. */
  reportOtherNode(name: string): void {
    if (isSubdomain(name)) this.#otherNode = { name, at: performance.now() };
  }

  /** Undefined: no view of Services is open that contains all namespaces. */
  get services(): ViewSource | undefined {
    return (this.#ifServed(this.#services) ?? this.#topologyServices())?.source;
  }

  /** Undefined: no view of endpoints is open that contains all namespaces. */
  get endpoints(): EndpointsSource | undefined {
    const source = this.#endpointsEntry?.source;
    return source !== undefined && isEndpointsSource(source) ? source : undefined;
  }

  /**
   * Whether the kube-proxy of this node reads a view, or another version would. In JSON only the views that were
   * chosen, because any client may send such a query, and its view must not make this node unready.
   */
  includes(source: ViewSource): boolean {
    const chosen = [this.#services, this.#endpoints].find((entry) => entry?.source === source);
    const isChosen = chosen !== undefined && this.#isKubeProxys(chosen);
    return isChosen || this.#views.isKubeProxys(source.query);
  }

  /** Whether a view of endpoints is open that a kube-proxy reads or would read. */
  get isOpen(): boolean {
    const entry = this.#endpointsEntry;
    return entry !== undefined && this.#isKubeProxys(entry);
  }

  /** Whether such a view has been open in the life of this process. One in JSON closes when its kube-proxy has gone. */
  get hasOpened(): boolean {
    return this.#hasRead || this.#held !== undefined;
  }

  /** A request reads a view. */
  reportRead(entry: ViewEntry): void {
    const { query } = entry.source;
    const isEndpoints = isForEndpoints(query);
    if (query.namespace !== '' || (query.resource !== SERVICES && !isEndpoints)) return;
    this.#seen.add(entry);
    if (isEndpoints && this.#isKubeProxys(entry)) this.#hasRead = true;
    if (entry.readers === 1) this.#choose();
  }

  /** A request has ended. */
  reportEnd(entry: ViewEntry): void {
    if (entry.readers === 0) this.#choose();
  }

  /** Keeps this view of endpoints open instead of the last one; undefined: none. */
  keepOpen(query: Query | undefined): void {
    const last = this.#held;
    this.#held = query && this.#holdUnlessRejected(query);
    last?.release();
  }

  #holdUnlessRejected(query: Query): EntryLease {
    const lease = this.#views.hold(query);
    const cancel = lease.view.whenSettled(() => {
      if (lease.view.refusal !== undefined) lease.release();
    });
    const release = (): void => {
      cancel();
      lease.release();
    };
    return { ...lease, release };
  }

  get #endpointsEntry(): ViewEntry | undefined {
    return this.#ifServed(this.#endpoints) ?? this.#ifServed(this.#held?.entry);
  }

  #choose(): void {
    for (const entry of this.#seen) if (!this.#views.isOpen(entry)) this.#seen.delete(entry);
    this.#services = this.#best(false, this.#services);
    const last = this.#endpoints;
    this.#endpoints = this.#best(true, last);
    if (this.#endpoints === undefined || this.#endpoints === last) return;
    const { query } = this.#endpoints.source;
    if (this.#isKubeProxys(this.#endpoints)) {
      this.keepOpen(query.encoding === 'protobuf' ? query : undefined);
    }
  }

  #best(isEndpoints: boolean, last: ViewEntry | undefined): ViewEntry | undefined {
    let best = last;
    for (const entry of this.#seen) {
      if (isForEndpoints(entry.source.query) !== isEndpoints) continue;
      if (best === undefined || this.#rank(entry) > this.#rank(best)) best = entry;
    }
    return best;
  }

  /** How likely it is that the kube-proxy of this node reads a view. */
  #rank(entry: ViewEntry): number {
    if (this.#ifServed(entry) === undefined) return -1;
    const isRead = entry.readers > 0;
    if (!this.#isKubeProxys(entry)) return isRead && !this.#hasRead ? 2 : 0;
    if (!isRead) return 1;
    return this.#isReadBeside(entry) ? 4 : 3;
  }

  /** Whether the other collection is read with the selectors of the same kube-proxy. */
  #isReadBeside({ source: { query } }: ViewEntry): boolean {
    const isPair = (endpoints: Query, services: Query): boolean =>
      slicesBeside(services).labelSelector === endpoints.labelSelector;
    const isEndpoints = isForEndpoints(query);
    return [...this.#seen].some((other) => {
      const { query: beside } = other.source;
      if (isForEndpoints(beside) === isEndpoints || !this.#isKubeProxys(other)) return false;
      return other.readers > 0 && (isEndpoints ? isPair(query, beside) : isPair(beside, query));
    });
  }

  /** Whether it is a kube-proxy's query. It may be configured for JSON. */
  #isKubeProxys({ source: { query } }: ViewEntry): boolean {
    return this.#views.isKubeProxys({ ...query, encoding: 'protobuf' });
  }

  #ifServed(entry: ViewEntry | undefined): ViewEntry | undefined {
    const isServed = entry && this.#views.isOpen(entry) && entry.source.view.closed === undefined;
    return isServed ? entry : undefined;
  }
}
