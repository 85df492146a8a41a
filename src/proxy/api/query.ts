import type { Encoding } from '../../filter/codec/codec.ts';
import { apiVersion, type Resource } from '../../filter/codec/resource.ts';

/** What a list or watch asks for. Equal questions share one reflector and one view. */
export interface Query {
  readonly resource: Resource;
  /** Empty: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string;
  /** As the client wrote it; empty: none. The API server evaluates it. */
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly encoding: Encoding;
}

/** Identifies a question. */
export function queryKey(query: Query): string {
  return `${query.encoding} ${queryPath(query)}`;
}

/** Path and query of a question, e.g. for a log line; also the identity of what it asks. */
export function queryPath(query: Query, parameters = new URLSearchParams()): string {
  if (query.fieldSelector !== '') parameters.set('fieldSelector', query.fieldSelector);
  if (query.labelSelector !== '') parameters.set('labelSelector', query.labelSelector);
  const path = collectionPath(query.resource, query.namespace);
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

/** Path of a collection, of one namespace or (empty) of all. */
export function collectionPath(resource: Resource, namespace: string): string {
  const root = resource.group === '' ? '/api' : '/apis';
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}/${apiVersion(resource)}${scope}/${resource.plural}`;
}
