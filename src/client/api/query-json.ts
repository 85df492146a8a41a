import * as v from 'valibot';
import { NODES, RESOURCES } from '../../filter/objects/resource.ts';
import type { Query } from './query.ts';
import { sliceSelectionOf } from './slice-selection.ts';

/** Half of the default of maxViews. Further views are opened when a client reads them. */
const MAX_QUERIES = 32;
/** The characters of a selector. The API server checks its syntax. */
const selectorSchema = v.pipe(v.string(), v.regex(/^[\x20-\x7e]{0,1000}$/));

const querySchema = v.object({
  group: v.string(),
  plural: v.string(),
  /** A DNS label; empty: all Namespaces. */
  namespace: v.pipe(v.string(), v.regex(/^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$/)),
  labelSelector: selectorSchema,
  fieldSelector: selectorSchema,
  encoding: v.picklist(['json', 'protobuf']),
});

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
  const { success, output } = v.safeParse(querySchema, entry);
  if (!success) return [];
  const { group, plural, ...rest } = output;
  const resource = RESOURCES.find((each) => each.group === group && each.plural === plural);
  if (resource === undefined || (rest.namespace !== '' && !resource.namespaced)) return [];
  if (resource === NODES && rest.fieldSelector !== `metadata.name=${nodeName}`) return [];
  const query = { ...rest, resource };
  try {
    sliceSelectionOf(query);
    return [query];
  } catch {
    // Another version of the wrapper evaluated its selectors. Its client is refused when it sends the query again.
    return [];
  }
}
