import type { Collection } from './collections.ts';
import type { KubeObject } from './kube-object.ts';
import { badRequest, expired, notFound, tooLargeResourceVersion } from './kube-status.ts';
import type { ListOptions } from './list-options.ts';
import { contentType, negotiate } from './negotiate.ts';
import { type Exchange, respond } from './respond.ts';
import type { Route } from './route.ts';
import { type Predicate, predicateOf } from './selector.ts';
import { keyOf } from './stamp.ts';
import type { Store } from './store.ts';
import type { WatchRequest } from './watch-session.ts';
import { encodeList, encodeObject, type Format, type ListMeta } from './wire.ts';

/** The format of a response. Events are always JSON, because there is no schema of them. */
export function formatFor(
  exchange: Exchange,
  collection: Collection,
  shape: 'object' | 'list' | 'watch',
): Format {
  const format = negotiate(exchange.request.headers.accept, shape);
  const json = collection.kind === 'Event' && !format.metadataOnly;
  return json ? { ...format, encoding: 'json' } : format;
}

/** GET of one object. */
export function serveObject(
  store: Store,
  route: Route,
  options: ListOptions,
  exchange: Exchange,
): void {
  const { collection, namespace, name = '' } = route;
  const format = formatFor(exchange, collection, 'object');
  assertNotTooLarge(store, options);
  const object = store.get(collection.name, referenceOf(namespace, name));
  if (object === undefined) throw notFound(collection, name);
  const body = encodeObject(collection, object, format);
  respond(exchange, 200, contentType(format.encoding, 'object'), body);
}

/** GET of a collection without `watch`. */
export function serveList(
  store: Store,
  route: Route,
  options: ListOptions,
  exchange: Exchange,
): void {
  const { collection } = route;
  const format = formatFor(exchange, collection, 'list');
  const predicate = selectionOf(route, options);
  const page = pageOf(store, collection, options, predicate);
  const body = encodeList(collection, page.meta, page.objects, format);
  respond(exchange, 200, contentType(format.encoding, 'list'), body);
}

/** The parameters of a watch session, from the request. */
export function watchRequestOf(
  route: Route,
  options: ListOptions,
  exchange: Exchange,
): Omit<WatchRequest, 'bookmarkIntervalMs'> {
  const format = formatFor(exchange, route.collection, 'watch');
  const predicate = selectionOf(route, options);
  return { collection: route.collection, predicate, options, format };
}

/** The store's name of an object. */
export function referenceOf(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function selectionOf(route: Route, options: ListOptions): Predicate {
  const { collection, namespace, name } = route;
  const { labelSelector, fieldSelector } = options;
  return predicateOf(collection, { namespace, name, labelSelector, fieldSelector });
}

interface Page {
  readonly meta: ListMeta;
  readonly objects: readonly KubeObject[];
}

/** Where a chunked list continues: its version, and the last key of the previous chunk. */
interface ContinueToken {
  readonly v: 'meta.k8s.io/v1';
  readonly rv: number;
  readonly start: string;
}

function pageOf(
  store: Store,
  collection: Collection,
  options: ListOptions,
  predicate: Predicate,
): Page {
  const token = options.continue === '' ? undefined : parseToken(options.continue);
  const state = stateFor(store, collection, options, token);
  const selected = state.objects.filter(
    (object) =>
      predicate(object) && (token === undefined || keyOf(collection, object) > token.start),
  );
  const meta = { resourceVersion: String(state.version) };
  // For "any" version the API server answers from its cache and ignores the limit (etcd3 and cacher).
  const limit = options.resourceVersion === 0n && token === undefined ? 0 : options.limit;
  const objects = limit > 0 ? selected.slice(0, limit) : selected;
  const last = objects.at(-1);
  if (last === undefined || objects.length === selected.length) return { meta, objects };
  const next: ContinueToken = {
    v: 'meta.k8s.io/v1',
    rv: state.version,
    start: keyOf(collection, last),
  };
  const encoded = Buffer.from(JSON.stringify(next)).toString('base64url');
  // With a selector the API server cannot tell how many objects remain.
  const counted = options.labelSelector === '' && options.fieldSelector === '';
  const left = counted ? { remainingItemCount: selected.length - objects.length } : {};
  return { meta: { ...meta, continue: encoded, ...left }, objects };
}

function stateFor(
  store: Store,
  collection: Collection,
  options: ListOptions,
  token: ContinueToken | undefined,
): { version: number; objects: readonly KubeObject[] } {
  const exact = options.resourceVersionMatch === 'Exact' ? options.resourceVersion : '';
  const version = token?.rv ?? (exact === '' ? undefined : Number(exact));
  assertNotTooLarge(store, options);
  if (version === undefined) {
    return { version: store.resourceVersion, objects: store.list(collection.name) };
  }
  const objects = store.listAt(collection.name, version);
  if (objects !== undefined) return { version, objects };
  throw token === undefined
    ? expired('The resourceVersion for the provided list is too old.')
    : expired(
        'The provided continue parameter is too old to display a consistent list result. You can start a ' +
          'new list without the continue parameter.',
      );
}

function assertNotTooLarge(store: Store, options: ListOptions): void {
  const { resourceVersion } = options;
  if (resourceVersion === '' || resourceVersion <= store.resourceVersion) return;
  throw tooLargeResourceVersion(resourceVersion, store.resourceVersion);
}

function parseToken(text: string): ContinueToken {
  try {
    const token: Partial<ContinueToken> = JSON.parse(Buffer.from(text, 'base64url').toString());
    const { v, rv, start } = token;
    if (v === 'meta.k8s.io/v1' && typeof rv === 'number' && typeof start === 'string') {
      return { v, rv, start };
    }
  } catch {
    // Not JSON: refused below like any other invalid token.
  }
  throw badRequest('invalid continue token: continue key is not valid');
}
