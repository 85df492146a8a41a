import { queryPath } from '../../client/api/query.ts';
import { completeView, notReady } from '../../diagnosis/reading/complete-view.ts';
import { type ResponseHead, responseHead } from '../../diagnosis/reading/version-info.ts';
import { SERVICES } from '../../filter/objects/resource.ts';
import type { EndpointsSource, ViewSource } from '../../node/views/view-source.ts';
import type { ShownState } from '../../server/node-proxy.ts';

/** Names a view in a response. */
export interface ViewName {
  /** Path and query string. */
  readonly query: string;
  readonly encoding: string;
  /** Active requests that read it, including watches. */
  readonly clients: number;
}

/** What each response about a view has. */
export interface ViewHead extends ResponseHead {
  /** Name of this node. */
  readonly node: string;
  readonly view: ViewName;
}

/** What is read of a proxy to find a view. */
type HasViews = Pick<ShownState, 'views'>;

/** The view of endpoints that kube-proxy reads. Throws `NotReady` if it is not complete yet. */
export function requireCompleteView(proxy: ShownState): EndpointsSource {
  const view = completeView(proxy);
  if (view === undefined) throw notReady(proxy);
  return view;
}

/** The name of a view in a response. */
function viewNameOf({ views }: HasViews, source: ViewSource): ViewName {
  const { query } = source;
  const clients = views.users(source);
  return { query: queryPath(query), encoding: query.encoding, clients };
}

/** The head of a response about a view. */
export function viewHead(proxy: ShownState, source: ViewSource): ViewHead {
  return {
    node: proxy.topology.nodeName,
    view: viewNameOf(proxy, source),
    ...responseHead(proxy),
  };
}

/** A Service as at the API server, from any view that contains it. */
export function findService(
  { views }: HasViews,
  service: string,
): { readonly source: ViewSource; readonly object: Buffer } | undefined {
  for (const source of views.sources) {
    if (source.query.resource !== SERVICES) continue;
    const object = source.find(service);
    if (object !== undefined) return { source, object };
  }
  return undefined;
}
