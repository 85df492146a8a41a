import type { Encoding } from '../../filter/codec/codec.ts';
import { apiVersion, type Resource } from '../../filter/objects/resource.ts';

/*
 * The room api: the vocabulary of Kubernetes requests. It parses and writes, and knows neither sockets nor views.
 *   query.ts, kube-proxy-queries.ts, query-json.ts   what is listed or watched
 *   request-url.ts, request-info.ts, list-options.ts what a request is for
 *   media-type.ts, codecs.ts                         in which encoding
 *   request-end.ts, request-error.ts                 how a request ended, and what follows for each part of the client
 *   slice-selection.ts                               selectors that the wrapper evaluates itself
 *   status.ts, discovery.ts                          answers that need no view
 *   read-limits.ts                                   limits of what the API server sends
 */

/** The query of a LIST or WATCH. Equal queries share one reflector and one view. */
export interface Query {
  readonly resource: Resource;
  /** Empty: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string;
  /** Exactly as in the request; empty: none. The API server evaluates it. */
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** The preferred one: where the API server has no protobuf, its objects come in JSON. */
  readonly encoding: Encoding;
  /** Objects as PartialObjectMetadata, without spec and status; default: whole. */
  readonly metadataOnly?: boolean;
}

/** Equal queries have the same key. */
export function queryKey(query: Query): string {
  const form = query.metadataOnly === true ? 'metadata ' : '';
  return `${form}${query.encoding} ${queryPath(query)}`;
}

/** Path and parameters of a query, for requests and log lines. */
export function queryPath(query: Query, parameters = new URLSearchParams()): string {
  if (query.fieldSelector !== '') parameters.set('fieldSelector', query.fieldSelector);
  if (query.labelSelector !== '') parameters.set('labelSelector', query.labelSelector);
  const path = collectionPath(query.resource, query.namespace);
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

/** Path of a collection in one namespace, or in all of them (empty). */
export function collectionPath(resource: Resource, namespace: string): string {
  const root = resource.group === '' ? '/api' : '/apis';
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}/${apiVersion(resource)}${scope}/${resource.plural}`;
}
