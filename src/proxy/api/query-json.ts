import { NODES, RESOURCES } from '../../filter/codec/resource.ts';
import type { Query } from './query.ts';

/** Half of what may be open by default (maxViews); further views are opened when a client asks for them. */
const MAX_QUERIES = 32;
/** A DNS label, as the name of a Namespace has to be; empty: all of them. */
const NAMESPACE = /^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$/;
/** What a selector is written with; its syntax is judged by the API server. */
const SELECTOR = /^[\x20-\x7e]{0,1000}$/;

/** The questions a process has views for, in a form that its successor can read. */
export function serializeQueries(queries: readonly Query[]): string {
  return JSON.stringify(
    queries.map(({ resource: { group, plural }, ...rest }) => ({ ...rest, group, plural })),
  );
}

/**
 * Reads what {@link serializeQueries} wrote, the first 32 of it. What is not understood is left out: another version
 * of the wrapper may have written it, or another program. Of Nodes only the own one is asked for.
 */
export function parseQueries(text: string, nodeName: string): Query[] {
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch {
    // No JSON: there is nothing to be learnt from it.
    return [];
  }
  if (!Array.isArray(entries)) return [];
  return entries.slice(0, MAX_QUERIES).flatMap((entry) => readQuery(entry, nodeName));
}

function readQuery(entry: unknown, nodeName: string): Query[] {
  if (typeof entry !== 'object' || entry === null) return [];
  const { group, plural, namespace, labelSelector, fieldSelector, encoding } = entry as Record<
    string,
    unknown
  >;
  const resource = RESOURCES.find((each) => each.group === group && each.plural === plural);
  if (resource === undefined || (encoding !== 'json' && encoding !== 'protobuf')) return [];
  if (!matches(namespace, NAMESPACE) || (namespace !== '' && !resource.namespaced)) return [];
  if (!matches(labelSelector, SELECTOR) || !matches(fieldSelector, SELECTOR)) return [];
  if (resource === NODES && fieldSelector !== `metadata.name=${nodeName}`) return [];
  return [{ resource, namespace, labelSelector, fieldSelector, encoding }];
}

function matches(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value);
}
