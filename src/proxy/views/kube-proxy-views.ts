import { SERVICES } from '../../filter/codec/facts/resource.ts';
import { isSubdomain } from '../../topology/policy/label.ts';
import type { Query } from '../api/query.ts';
import type { OpenViews } from './open-views.ts';
import type { EntryLease, ViewEntry } from './view-entry.ts';
import { type EndpointsSource, isEndpointsSource, type ViewSource } from './view-source.ts';

/** A kube-proxy that is refused tries again at the latest after 30 s (client-go); in ms. */
const REFUSED_MS = 60_000;

/**
 * The views that the kube-proxy of this node reads, or that the newest one would read until one comes.
 *
 * Who reads can only be told by the query: it is that of a kube-proxy. Until there is one, any client that reads all
 * namespaces counts. What a kube-proxy reads does not change while it reads: a request for another view may be curl's.
 *
 * The view of endpoints remains open without a request, so that explain, the page and metrics work while kube-proxy is
 * away. One in JSON does not, because it counts in the budget.
 */
export class KubeProxyViews {
  readonly #views: OpenViews;
  readonly #topologyServices: () => ViewEntry | undefined;
  #services: ViewEntry | undefined;
  #endpoints: ViewEntry | undefined;
  #kept: EntryLease | undefined;
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
  noteOtherNode(name: string): void {
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

  /** Whether a view of endpoints is open that a kube-proxy reads or would read. */
  get isOpen(): boolean {
    const entry = this.#endpointsEntry;
    return entry !== undefined && this.#isKubeProxys(entry);
  }

  /** A request reads a view. */
  noteRead(entry: ViewEntry): void {
    const { query } = entry.source;
    if (query.namespace !== '') return;
    if (query.resource === SERVICES) {
      if (this.#replaces(entry, this.#services)) this.#services = entry;
    } else if (isEndpointsSource(entry.source) && this.#replaces(entry, this.#endpoints)) {
      this.#endpoints = entry;
      if (!this.#isKubeProxys(entry)) return;
      this.#hasRead = true;
      this.keep(query.encoding === 'protobuf' ? query : undefined);
    }
  }

  /** Keeps this view of endpoints open instead of the last one; undefined: none. */
  keep(query: Query | undefined): void {
    const last = this.#kept;
    this.#kept = query && this.#holdUnlessRejected(query);
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
    return this.#ifServed(this.#endpoints) ?? this.#ifServed(this.#kept?.entry);
  }

  #replaces(entry: ViewEntry, last: ViewEntry | undefined): boolean {
    if (last === undefined || last.readers === 0) return true;
    return this.#isKubeProxys(entry) && !this.#isKubeProxys(last);
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
