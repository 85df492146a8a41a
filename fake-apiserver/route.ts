import { COLLECTIONS, type Collection } from './collections.ts';

/** The collection or object that a path addresses. */
export interface Route {
  readonly collection: Collection;
  /** Absent: cluster-scoped, or all namespaces. */
  readonly namespace?: string;
  /** Absent: the collection. */
  readonly name?: string;
}

const PATH =
  /^\/(?:api|apis\/([^/]+))\/([^/]+)\/(?:namespaces\/([^/]+)\/)?([^/]+)(?:\/([^/]+))?(?:\/status)?$/;

/**
 * Returns the route of a path; undefined if the server has no such path. The subresource `status` is treated as the
 * object itself.
 */
export function routeOf(path: string): Route | undefined {
  const match = PATH.exec(path);
  if (match === null) return undefined;
  const [, group = '', version, namespace, plural, name] = match;
  const collection = [...COLLECTIONS.values()].find(
    (each) => each.group === group && each.version === version && each.plural === plural,
  );
  if (collection === undefined) return undefined;
  // The path of a namespaced object contains its namespace; that of a cluster-scoped one never does.
  const fits = collection.namespaced
    ? namespace !== undefined || name === undefined
    : namespace === undefined;
  if (!fits) return undefined;
  return {
    collection,
    ...(namespace === undefined ? {} : { namespace: decoded(namespace) }),
    ...(name === undefined ? {} : { name: decoded(name) }),
  };
}

/** Decodes a segment. One with an invalid escape stays unchanged; no object has such a name. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
