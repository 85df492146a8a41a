import { WrapperError } from '../../errors.ts';
import type { EndpointsProjection } from '../../filter/endpoints-projection.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../filter/resource.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import { questionPath } from '../../proxy/question.ts';
import type { ViewSource } from '../../proxy/view-source.ts';

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

/**
 * The view of endpoints that kube-proxy reads; if none does, any that is open. Throws `NotReady` when there is
 * none: nobody has asked for endpoints yet.
 */
export function explainedView({ views, url }: Pick<NodeProxy, 'views' | 'url'>): ExplainedView {
  const [best] = views.sources
    .flatMap((source) =>
      source.projection === undefined ? [] : [{ source, score: score(source) }],
    )
    .sort((a, b) => b.score - a.score);
  const projection = best?.source.projection;
  if (best !== undefined && projection !== undefined) return { source: best.source, projection };
  throw new WrapperError(
    'NotReady',
    `no client has asked for endpoints yet; the kubeconfig of kube-proxy has to name server: ${url}`,
  );

  function score(source: ViewSource): number {
    const { resource, namespace, labelSelector, encoding } = source.question;
    return (
      (source.view.started ? 16 : 0) +
      (views.users(source) > 0 ? 8 : 0) +
      (resource === ENDPOINT_SLICES ? 4 : 0) +
      // Only kube-proxy leaves headless Services out, and only it asks in protobuf for all namespaces.
      (labelSelector.includes('!service.kubernetes.io/headless') ? 2 : 0) +
      (encoding === 'protobuf' && namespace === '' ? 1 : 0)
    );
  }
}

/** How a view is named in an answer. */
export function nameOf({ views }: Pick<NodeProxy, 'views'>, source: ViewSource): ViewName {
  const { question } = source;
  const clients = views.users(source);
  return { question: questionPath(question), encoding: question.encoding, clients };
}

/** A Service as the API server has it, from any view that knows it. */
export function findService(
  { views }: Pick<NodeProxy, 'views'>,
  service: string,
): { readonly source: ViewSource; readonly object: Buffer } | undefined {
  for (const source of views.sources) {
    if (source.question.resource !== SERVICES) continue;
    const object = source.find(service);
    if (object !== undefined) return { source, object };
  }
  return undefined;
}
