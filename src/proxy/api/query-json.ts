import { NODES, RESOURCES } from '../../filter/codec/resource.ts';
import type { Query } from './query.ts';
import { sliceSelectionOf } from './slice-selection.ts';

/** Half of the default of maxViews. Further views are opened when a client reads them. */
const MAX_QUERIES = 32;
/** The name of a Namespace, which is a DNS label; empty: all Namespaces. */
const NAMESPACE = /^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$/;
/** The characters of a selector. The API server checks its syntax. */
const SELECTOR = /^[\x20-\x7e]{0,1000}$/;

/** Serializes the queries of the open views, for the next process; see hot-restart.ts. */
export function serializeQueries(queries: readonly Query[]): string {
  return JSON.stringify(
    queries.map(({ resource: { group, plural }, ...rest }) => ({ ...rest, group, plural })),
  );
}

/**
 * Parses the first 32 queries that {@link serializeQueries} wrote. Skips invalid entries: another version of the
 * wrapper or another program may have written them. Also skips queries for other Nodes than the own one.
 */
export function parseQueries(text: string, nodeName: string): Query[] {
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch {
    // Not JSON: another program may have answered.
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
  return checked({ resource, namespace, labelSelector, fieldSelector, encoding });
}

/** Without a query for slices whose selectors cannot be evaluated. */
function checked(query: Query): Query[] {
  try {
    sliceSelectionOf(query);
    return [query];
  } catch {
    // Another version of the wrapper accepted it. Its client is refused when it sends the query again.
    return [];
  }
}

function matches(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value);
}
