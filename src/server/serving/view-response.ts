import type { ServerResponse } from 'node:http';
import type { ListOptions } from '../../client/api/list-options.ts';
import { statusOf } from '../../client/api/status.ts';
import { WrapperError } from '../../errors.ts';
import { objectKey } from '../../filter/objects/change.ts';
import type { Resource } from '../../filter/objects/resource.ts';
import type { View } from '../../filter/view/view.ts';
import { type Body, bodyOf, type ListBody, type ViewState } from '../../filter/view/view-state.ts';
import type { WriteLimits } from '../http/large-blocks.ts';
import { Watcher, writeWatchHead } from './watcher.ts';

export interface WatchTimes {
  /** Time between bookmarks, in milliseconds. */
  readonly bookmarkMs: number;
  /** A watch without timeoutSeconds lasts between this time and twice this time, in milliseconds. */
  readonly minWatchMs: number;
}

/** Maximum duration of a watch, in milliseconds. A timer of Node lasts at most 24 days. */
const MAX_WATCH_MS = 24 * 60 * 60_000;

/**
 * The body of a LIST. Throws `Expired` or `TooLargeResourceVersion` if the requested version is not available.
 *
 * @param only key of the only object that is listed; default: all objects
 */
export function readList(view: View, options: ListOptions, only?: string): ListBody {
  if (options.continue !== '') {
    // We never send a list in chunks: another server issued the token, for a state that we do not have.
    throw new WrapperError('Expired', 'the continue token is from another server; list again');
  }
  const state = view.state();
  const { version } = state;
  assertNotNewer(version, options.version);
  if (options.match === 'Exact' && options.version !== version) {
    throw new WrapperError('Expired', `only the newest state can be listed, which is ${version}`);
  }
  if (only === undefined) return state.list;
  return state.listOf(view.get(only));
}

/** The body of a GET of one object. Throws `NotFound` if the view does not have it, or why it was closed. */
export function readObject(
  view: View,
  info: { readonly namespace: string; readonly name: string },
  options: ListOptions,
): Body {
  view.assertOpen();
  assertNotNewer(view.log.version, options.version);
  const object = view.get(objectKey(info));
  if (object === undefined) throw notFound(view.resource, info.name);
  return bodyOf(view.codec.encodeObject(view.resource, object));
}

/** The API server's own 404 (apimachinery api/errors NewNotFound), except that the message says who answers. */
function notFound({ group, plural }: Resource, name: string): WrapperError {
  const qualified = group === '' ? plural : `${plural}.${group}`;
  const subject = { name, group, kind: plural };
  const status = { code: 404, reason: 'NotFound', subject };
  return new WrapperError('NotFound', `${qualified} "${name}" not found`, { status });
}

/** Answers with a watch. Throws `Expired` or `TooLargeResourceVersion` if it cannot begin at that version. */
export function startWatch(
  view: View,
  response: ServerResponse,
  options: ListOptions,
  times: WatchTimes & WriteLimits,
): Watcher {
  const timeoutMs =
    options.timeoutSeconds === undefined
      ? times.minWatchMs * (1 + Math.random())
      : Math.min(options.timeoutSeconds * 1000, MAX_WATCH_MS);
  const { initial, position, initialEventsEnd } = startOf(view, options);
  const watcher = new Watcher({
    view,
    response,
    position,
    initialEventsEnd,
    bookmarks: options.allowWatchBookmarks,
    bookmarkMs: times.bookmarkMs,
    timeoutMs,
    writeTimeoutMs: times.writeTimeoutMs,
    onTimeout: times.onTimeout,
    largeBlocks: times.largeBlocks,
  });
  watcher.start(initial);
  return watcher;
}

/**
 * Answers a watch that cannot begin at its version with one ERROR event, as an API server does (apiserver
 * storage/cacher, newErrWatcher). Clients other than client-go do not list again after an HTTP status.
 */
export function refuseWatch({ codec }: View, response: ServerResponse, error: WrapperError): void {
  writeWatchHead(response, codec.encoding);
  response.end(codec.encodeErrorEvent(statusOf(error)));
}

/** Where a watch begins: with the whole state, or exactly after a version of the log. */
function startOf(
  view: View,
  options: ListOptions,
): { initial?: ViewState; position: number; initialEventsEnd: boolean } {
  if (options.sendInitialEvents === true) {
    const initial = view.state();
    assertNotNewer(initial.version, options.version);
    const initialEventsEnd = options.allowWatchBookmarks;
    return { initial, position: initial.position, initialEventsEnd };
  }
  if (options.version === undefined) {
    const initial = view.state();
    // With sendInitialEvents=false the client has the state already. Otherwise it gets ADDED for every object.
    const fromNow = options.sendInitialEvents === false;
    if (fromNow) return { position: initial.position, initialEventsEnd: false };
    // An apiserver also treats such a watch as a streaming list (watch cache, legacy watch from 0).
    return { initial, position: initial.position, initialEventsEnd: options.allowWatchBookmarks };
  }
  const position = view.log.positionAfter(options.version);
  if (position === undefined) {
    throw new WrapperError(
      'Expired',
      `too old resource version: a watch cannot continue from ${options.version}; list again`,
    );
  }
  return { position, initialEventsEnd: false };
}

/** The whole state satisfies any version up to the newest. Throws `TooLargeResourceVersion` for a newer one. */
function assertNotNewer(newest: bigint, wanted: bigint | undefined): void {
  if (wanted === undefined || wanted <= newest) return;
  throw new WrapperError(
    'TooLargeResourceVersion',
    `Too large resource version: ${wanted}, current: ${newest}`,
  );
}
