import { COLLECTIONS, type Collection } from './collections.ts';

/** What a path points to. */
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
 * Returns what a path points to; undefined when it is none of this server's. The subresource `status` is
 * taken for the object itself.
 */
export function routeOf(path: string): Route | undefined {
  const match = PATH.exec(path);
  if (match === null) return undefined;
  const [, group = '', version, namespace, plural, name] = match;
  const collection = [...COLLECTIONS.values()].find(
    (each) => each.group === group && each.version === version && each.plural === plural,
  );
  if (collection === undefined) return undefined;
  // A namespaced object is addressed within its namespace, a cluster-scoped one never is.
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

/** A segment that is no valid escape is taken as it is; nothing has such a name. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
