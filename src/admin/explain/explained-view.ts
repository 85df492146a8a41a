import { WrapperError } from '../../errors.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../filter/codec/resource.ts';
import type { EndpointsProjection } from '../../filter/projection/endpoints-projection.ts';
import { queryPath } from '../../proxy/api/query.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import type { ViewSource } from '../../proxy/views/view-source.ts';

/** The view that is explained. */
export interface ExplainedView {
  readonly source: ViewSource;
  readonly projection: EndpointsProjection;
}

/** How a view is named in an answer. */
export interface ViewName {
  /** Path and query of the question. */
  readonly question: string;
  readonly encoding: string;
  /** Requests, watches included, that read it now. */
  readonly clients: number;
}

/** The view of endpoints that kube-proxy reads; if none does, any that is open; undefined: there is none. */
export function findView({ views }: Pick<NodeProxy, 'views'>): ExplainedView | undefined {
  const all = views.sources.filter(({ projection }) => projection !== undefined);
  const source = mostAlike(all, (each) => likeness(each, views.users(each)));
  return source?.projection && { source, projection: source.projection };
}

/** The one with the highest score, of several the first. */
function mostAlike(
  sources: readonly ViewSource[],
  score: (source: ViewSource) => number,
): ViewSource | undefined {
  return sources.toSorted((a, b) => score(b) - score(a))[0];
}

/** The same. Throws `NotReady` when there is none: nobody has asked for endpoints yet. */
export function explainedView(proxy: Pick<NodeProxy, 'views' | 'url'>): ExplainedView {
  const view = findView(proxy);
  if (view !== undefined) return view;
  throw new WrapperError(
    'NotReady',
    `no client has asked for endpoints yet; the kubeconfig of kube-proxy has to name server: ${proxy.url}`,
  );
}

/** How much a view looks like the one of kube-proxy. */
function likeness({ query, view }: ViewSource, users: number): number {
  const { resource, namespace, labelSelector, encoding } = query;
  return (
    (view.started ? 16 : 0) +
    (users > 0 ? 8 : 0) +
    (resource === ENDPOINT_SLICES ? 4 : 0) +
    // Only kube-proxy leaves headless Services out, and only it asks in protobuf for all namespaces.
    (labelSelector.includes('!service.kubernetes.io/headless') ? 2 : 0) +
    (encoding === 'protobuf' && namespace === '' ? 1 : 0)
  );
}

/** The view of Services that kube-proxy reads; if none does, any of all namespaces; undefined: there is none. */
export function findServices({ views }: Pick<NodeProxy, 'views'>): ViewSource | undefined {
  const all = views.sources.filter(({ query }) => query.resource === SERVICES);
  return mostAlike(all, (source) => {
    const { namespace, labelSelector, encoding } = source.query;
    return (
      // One namespace is a fraction of what is in the kernel: it is no answer, even if nobody reads all.
      (namespace === '' ? 8 : 0) +
      (views.users(source) > 0 ? 4 : 0) +
      (labelSelector.includes('!service.kubernetes.io/service-proxy-name') ? 2 : 0) +
      (encoding === 'protobuf' ? 1 : 0)
    );
  });
}

/** How a view is named in an answer. */
export function nameOf({ views }: Pick<NodeProxy, 'views'>, source: ViewSource): ViewName {
  const { query } = source;
  const clients = views.users(source);
  return { question: queryPath(query), encoding: query.encoding, clients };
}

/** A Service as the API server has it, from any view that knows it. */
export function findService(
  { views }: Pick<NodeProxy, 'views'>,
  service: string,
): { readonly source: ViewSource; readonly object: Buffer } | undefined {
  for (const source of views.sources) {
    if (source.query.resource !== SERVICES) continue;
    const object = source.find(service);
    if (object !== undefined) return { source, object };
  }
  return undefined;
}
