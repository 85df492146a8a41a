import { WrapperError } from '../../errors.ts';
import { RESOURCES, type Resource } from '../../filter/objects/resource.ts';

/** What the path of a request refers to, as in kube-apiserver's RequestInfo. */
export type RequestInfo =
  | {
      readonly kind: 'collection';
      readonly resource: Resource;
      /** Empty: all namespaces. */
      readonly namespace: string;
    }
  | {
      readonly kind: 'object';
      readonly resource: Resource;
      readonly namespace: string;
      readonly name: string;
    }
  | { readonly kind: 'other' };

/** A request whose path a view answers. */
export type ViewRequestInfo = Exclude<RequestInfo, { kind: 'other' }>;

/** What a request is for, parsed once. */
export interface RequestTarget {
  /** Exactly as sent. */
  readonly path: string;
  /** As sent; for a deprecated watch path with `watch=true`. */
  readonly query: URLSearchParams;
  readonly info: RequestInfo;
}

const OTHER: RequestInfo = { kind: 'other' };
/** What is before and after `/watch`. */
const DEPRECATED_WATCH = /^([/]api[/]v1|[/]apis[/][^/]+[/][^/]+)[/]watch([/].+)$/;

/**
 * Parses what a request is for. A deprecated watch path is what it was replaced by: `/api/v1/watch/services` is
 * `/api/v1/services?watch=true`. Throws `BadRequest` if the path is not canonical: such paths can evade filters.
 */
export function parseRequestTarget(path: string, query: URLSearchParams): RequestTarget {
  const [, before, after] = DEPRECATED_WATCH.exec(path) ?? [];
  const info = parseRequestInfo(after === undefined ? path : `${before}${after}`);
  if (after === undefined || info.kind === 'other') return { path, query, info };
  const watch = new URLSearchParams(query);
  watch.set('watch', 'true');
  if (info.kind === 'collection') return { path, query: watch, info };
  const { resource, namespace, name } = info;
  const selector = `metadata.name=${name}`;
  if ((query.get('fieldSelector') || selector) !== selector) {
    throw new WrapperError(
      'BadRequest',
      `a watch of ${name} has no field selector but ${selector}`,
    );
  }
  watch.set('fieldSelector', selector);
  return { path, query: watch, info: { kind: 'collection', resource, namespace } };
}

/** Parses the path of a request. Throws `BadRequest` if it is not canonical: such paths can evade filters. */
export function parseRequestInfo(
  path: string,
  resources: readonly Resource[] = RESOURCES,
): RequestInfo {
  const segments = decodeSegments(path);
  const [root, ...rest] = segments;
  if (root === 'api') return parseGroup('', rest, resources);
  if (root === 'apis') return parseGroup(rest[0] ?? '', rest.slice(1), resources);
  return OTHER;
}

function decodeSegments(path: string): string[] {
  try {
    const segments = path.slice(1).split('/').map(decodeURIComponent);
    const canonical =
      path.startsWith('/') &&
      // A server may drop what follows, as a browser does.
      !path.includes('#') &&
      segments.every((segment) => segment !== '.' && segment !== '..' && !segment.includes('/'));
    if (canonical && !segments.slice(0, -1).includes('')) return segments;
  } catch {
    // Falls through: a percent sign that does not begin an escape sequence.
  }
  const hint = path.startsWith('//') ? '; the URL of the server must not end with a slash' : '';
  throw new WrapperError(
    'BadRequest',
    `the path ${JSON.stringify(path.slice(0, 200))} is not canonical${hint}`,
  );
}

/** `<version>[/namespaces/<namespace>]/<plural>[/<name>]` */
function parseGroup(
  group: string,
  [version, ...rest]: readonly string[],
  resources: readonly Resource[],
): RequestInfo {
  const namespaced = rest[0] === 'namespaces' && rest.length > 2;
  const namespace = namespaced ? (rest[1] ?? '') : '';
  const [plural = '', name, ...below] = namespaced ? rest.slice(2) : rest;
  if (below.length > 0 || name === '' || (namespaced && namespace === '')) return OTHER;
  const resource = resources.find(
    (each) => each.group === group && each.version === version && each.plural === plural,
  );
  if (resource === undefined || (namespaced && !resource.namespaced)) return OTHER;
  if (name === undefined) return { kind: 'collection', resource, namespace };
  // An object of a namespaced resource has no path without its namespace.
  if (resource.namespaced !== namespaced) return OTHER;
  return { kind: 'object', resource, namespace, name };
}
