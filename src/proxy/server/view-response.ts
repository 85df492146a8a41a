import type { ServerResponse } from 'node:http';
import { WrapperError } from '../../errors.ts';
import { objectKey } from '../../filter/codec/change.ts';
import type { View } from '../../filter/view/view.ts';
import type { ListOptions } from '../api/list-options.ts';
import type { WriteTimeout } from '../http/write-timeout.ts';
import { Watcher } from './watcher.ts';

export interface WatchTimes {
  /** Time between bookmarks, in milliseconds. */
  readonly bookmarkMs: number;
  /** A watch without timeoutSeconds lasts between this and twice this, in milliseconds. */
  readonly minWatchMs: number;
}

/** No watch lasts longer than this, in milliseconds; timers take 24 days at most. */
const MAX_WATCH_MS = 24 * 60 * 60_000;

/** The body of a LIST. Throws `Expired` or `TooLargeResourceVersion` when the version asked for cannot be had. */
export function readList(view: View, options: ListOptions): Buffer[] {
  if (options.continue !== '') {
    // Our lists are never chunked: the token is another server's, for a state we do not have.
    throw new WrapperError('Expired', 'the continue token is of another server; list anew');
  }
  const { version, items } = view.snapshot();
  assertReached(version, options.version);
  if (options.match === 'Exact' && options.version !== version) {
    throw new WrapperError('Expired', `only the newest state can be listed, that is ${version}`);
  }
  return view.codec.encodeList(view.resource, String(version), items);
}

/** The body of a GET of one object. Throws `NotFound` when the view does not hold it. */
export function readObject(
  view: View,
  target: { readonly namespace: string; readonly name: string },
  options: ListOptions,
): Buffer[] {
  assertReached(view.log.version, options.version);
  const object = view.get(objectKey(target));
  if (object === undefined) {
    throw new WrapperError('NotFound', `${view.resource.plural} "${target.name}" not found`);
  }
  return view.codec.encodeObject(view.resource, object);
}

/** Answers with a watch. Throws `Expired` or `TooLargeResourceVersion` when it cannot begin where it should. */
export function startWatch(
  view: View,
  response: ServerResponse,
  options: ListOptions,
  times: WatchTimes & WriteTimeout,
): Watcher {
  const timeoutMs =
    options.timeoutSeconds === undefined
      ? times.minWatchMs * (1 + Math.random())
      : Math.min(options.timeoutSeconds * 1000, MAX_WATCH_MS);
  const watcher = new Watcher({
    view,
    response,
    ...beginning(view, options),
    bookmarks: options.allowWatchBookmarks,
    bookmarkMs: times.bookmarkMs,
    timeoutMs,
    stallMs: times.stallMs,
    onStalled: times.onStalled,
  });
  watcher.start();
  return watcher;
}

/** Where a watch begins: with the whole state, or exactly after a version of the log. */
function beginning(view: View, options: ListOptions) {
  if (options.sendInitialEvents === true) {
    const initial = view.snapshot();
    assertReached(initial.version, options.version);
    const initialEventsEnd = options.allowWatchBookmarks;
    return { initial, position: initial.position, initialEventsEnd };
  }
  if (options.version === undefined) {
    const initial = view.snapshot();
    // With sendInitialEvents=false the client has the state already; else it gets ADDED for all.
    const fromNow = options.sendInitialEvents === false;
    if (fromNow) return { position: initial.position, initialEventsEnd: false };
    // As an apiserver, which turns such a watch into a streaming list (watchcache, legacy watch from 0).
    return { initial, position: initial.position, initialEventsEnd: options.allowWatchBookmarks };
  }
  const position = view.log.positionAfter(options.version);
  if (position === undefined) {
    throw new WrapperError(
      'Expired',
      `too old resource version: a watch cannot continue from ${options.version}; list anew`,
    );
  }
  return { position, initialEventsEnd: false };
}

/** The whole state will do for any version up to the newest; a newer one has not been seen here. */
function assertReached(newest: bigint, wanted: bigint | undefined): void {
  if (wanted === undefined || wanted <= newest) return;
  throw new WrapperError(
    'TooLargeResourceVersion',
    `Too large resource version: ${wanted}, current: ${newest}`,
  );
}
