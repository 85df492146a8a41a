import { WrapperError } from '../../errors.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../filter/codec/resource.ts';
import type { EndpointsProjection } from '../../filter/projection/endpoints-projection.ts';
import { queryPath } from '../../proxy/api/query.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import type { ViewSource } from '../../proxy/views/view-source.ts';

/** The view of endpoints that is explained. */
export interface ExplainedView {
  readonly source: ViewSource;
  readonly projection: EndpointsProjection;
}

/** Names a view in a response. */
export interface ViewName {
  /** Path and query string. */
  readonly query: string;
  readonly encoding: string;
  /** Active requests that read it, including watches. */
  readonly clients: number;
}

/** The view of endpoints that kube-proxy reads, else any open one; undefined: no view of endpoints is open. */
export function findView({ views }: Pick<NodeProxy, 'views'>): ExplainedView | undefined {
  const all = views.sources.filter(({ projection }) => projection !== undefined);
  const source = withHighestScore(all, (each) => scoreOf(each, views.users(each)));
  return source?.projection && { source, projection: source.projection };
}

/** The first source with the highest score. */
function withHighestScore(
  sources: readonly ViewSource[],
  score: (source: ViewSource) => number,
): ViewSource | undefined {
  return sources.toSorted((a, b) => score(b) - score(a))[0];
}

/** Why there is no view to explain. A request for an explanation opens one. */
export const NO_VIEW = 'no view of endpoints is open yet; try again';

/** Like findView(). Throws `NotReady` if no view of endpoints is open yet. */
export function explainedView(proxy: Pick<NodeProxy, 'views'>): ExplainedView {
  const view = findView(proxy);
  if (view !== undefined) return view;
  throw new WrapperError('NotReady', NO_VIEW);
}

/** How likely it is that kube-proxy reads a view. */
function scoreOf({ query, view }: ViewSource, users: number): number {
  const { resource, namespace, labelSelector, encoding } = query;
  return (
    (view.started ? 16 : 0) +
    (users > 0 ? 8 : 0) +
    (resource === ENDPOINT_SLICES ? 4 : 0) +
    // Only kube-proxy excludes headless Services, and only it requests all namespaces in protobuf.
    (labelSelector.includes('!service.kubernetes.io/headless') ? 2 : 0) +
    (encoding === 'protobuf' && namespace === '' ? 1 : 0)
  );
}

/** The view of Services that kube-proxy reads, else any of all namespaces; undefined: no view of Services is open. */
export function findServices({ views }: Pick<NodeProxy, 'views'>): ViewSource | undefined {
  const all = views.sources.filter(({ query }) => query.resource === SERVICES);
  return withHighestScore(all, (source) => {
    const { namespace, labelSelector, encoding } = source.query;
    return (
      // A view of one namespace does not cover the kernel's tables, even if nobody reads the view of all namespaces.
      (namespace === '' ? 8 : 0) +
      (views.users(source) > 0 ? 4 : 0) +
      (labelSelector.includes('!service.kubernetes.io/service-proxy-name') ? 2 : 0) +
      (encoding === 'protobuf' ? 1 : 0)
    );
  });
}

/** The name of a view in a response. */
export function nameOf({ views }: Pick<NodeProxy, 'views'>, source: ViewSource): ViewName {
  const { query } = source;
  const clients = views.users(source);
  return { query: queryPath(query), encoding: query.encoding, clients };
}

/** A Service as at the API server, from any view that contains it. */
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
