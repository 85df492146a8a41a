import type { Encoding } from '../../filter/codec/codec.ts';
import { apiVersion, type Resource } from '../../filter/codec/resource.ts';

/** What a list or watch asks for. Equal questions share one reflector and one view. */
export interface Question {
  readonly resource: Resource;
  /** Empty: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string;
  /** As the client wrote it; empty: none. The API server evaluates it. */
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly encoding: Encoding;
}

/** Identifies a question. */
export function questionKey(question: Question): string {
  return `${question.encoding} ${questionPath(question)}`;
}

/** Path and query of a question, e.g. for a log line; also the identity of what it asks. */
export function questionPath(question: Question, query = new URLSearchParams()): string {
  if (question.fieldSelector !== '') query.set('fieldSelector', question.fieldSelector);
  if (question.labelSelector !== '') query.set('labelSelector', question.labelSelector);
  const path = collectionPath(question.resource, question.namespace);
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Path of a collection, of one namespace or (empty) of all. */
export function collectionPath(resource: Resource, namespace: string): string {
  const root = resource.group === '' ? '/api' : '/apis';
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}/${apiVersion(resource)}${scope}/${resource.plural}`;
}
