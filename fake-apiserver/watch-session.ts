import type { ServerResponse } from 'node:http';
import type { Collection } from './collections.ts';
import { type Change, seenBy } from './history.ts';
import type { KubeObject } from './kube-object.ts';
import { expired, type KubeStatus, tooLargeResourceVersion } from './kube-status.ts';
import type { ListOptions } from './list-options.ts';
import { destroyConnection } from './listener.ts';
import type { Predicate } from './selector.ts';
import type { Store } from './store.ts';
import { encodeBookmark, encodeErrorEvent, encodeEvent, type Format } from './wire.ts';

/** The parameters of a watch. */
export interface WatchRequest {
  readonly collection: Collection;
  readonly predicate: Predicate;
  readonly options: ListOptions;
  readonly format: Format;
  /** Milliseconds between bookmarks. */
  readonly bookmarkIntervalMs: number;
}

/** A client with more unread bytes is disconnected. An API server also ends a watcher that blocks it. */
const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;

/** An API server's default is a random time of 30 to 60 minutes. */
const DEFAULT_TIMEOUT_SECONDS = 30 * 60;

/** As an API server, it sends a bookmark so long before a watch ends (nextBookmarkTime in cache_watcher.go). */
const BOOKMARK_BEFORE_END_MS = 2_000;

type State = 'open' | 'frozen' | 'overdue' | 'ended';

/**
 * One open watch, from its first event to its end.
 *
 *   open ──freeze──▶ frozen ──timeout──▶ overdue ──thaw──▶ ended
 *     ◀────thaw─────────┘
 *   open ──timeout──▶ ended; close(), cut() and the end of the connection lead from every state to ended
 */
export class WatchSession {
  readonly #store: Store;
  readonly #request: WatchRequest;
  readonly #response: ServerResponse;
  readonly #timers: NodeJS.Timeout[] = [];
  #unsubscribe: () => void = () => {};
  #pending: Buffer[] = [];
  #flushScheduled = false;
  #state: State = 'open';

  /** @param response the response, with its headers set */
  constructor(store: Store, request: WatchRequest, response: ServerResponse) {
    this.#store = store;
    this.#request = request;
    this.#response = response;
  }

  /** Why the watch cannot begin at its version; undefined if it can. */
  refusal(): KubeStatus | undefined {
    const { collection, options } = this.#request;
    const newest = this.#store.resourceVersion;
    const version = options.resourceVersion === '' ? 0n : options.resourceVersion;
    if (options.sendInitialEvents) {
      return version > newest ? tooLargeResourceVersion(version, newest).status : undefined;
    }
    const oldest = this.#store.oldestVersion(collection.name);
    if (version === 0n || version >= oldest) return undefined;
    return expired(`too old resource version: ${version} (${oldest})`).status;
  }

  /** Sends the initial events and subscribes to changes in the same event loop turn, so that none is missed. */
  start(): void {
    this.#response.flushHeaders();
    const refusal = this.refusal();
    if (refusal !== undefined) {
      this.#send(encodeErrorEvent(refusal, this.#request.format.encoding));
      this.#end();
      return;
    }
    this.#sendInitialFrames();
    const { collection, options, bookmarkIntervalMs } = this.#request;
    this.#unsubscribe = this.#store.subscribe(collection.name, (change) => this.#onChange(change));
    this.#response.once('close', () => this.#release());
    const seconds = options.timeoutSeconds ?? 0;
    const timeout = (seconds > 0 ? seconds : DEFAULT_TIMEOUT_SECONDS) * 1000;
    // The maximum of setTimeout is 31 bits.
    this.#timers.push(setTimeout(() => this.#onTimeout(), Math.min(timeout, 0x7fff_ffff)));
    if (options.allowWatchBookmarks) {
      if (timeout > BOOKMARK_BEFORE_END_MS) {
        const last = timeout - BOOKMARK_BEFORE_END_MS;
        this.#timers.push(setTimeout(() => this.#sendBookmark(false), Math.min(last, 0x7fff_ffff)));
      }
      this.#timers.push(setInterval(() => this.#sendBookmark(false), bookmarkIntervalMs));
    }
  }

  /** Ends the stream between two events, as a server does when it shuts down. */
  close(): void {
    if (this.#state !== 'ended') this.#state = 'open';
    this.#end();
  }

  /** Destroys the connection. */
  cut(): void {
    this.#release();
    destroyConnection(this.#response);
  }

  /** Stops sending with the connection left open, as if the network dropped every packet. */
  freeze(): void {
    if (this.#state === 'open') this.#state = 'frozen';
  }

  /** Sends the delayed frames and continues. */
  thaw(): void {
    const isOverdue = this.#state === 'overdue';
    if (!isOverdue && this.#state !== 'frozen') return;
    this.#state = 'open';
    if (isOverdue) this.#end();
    else this.#scheduleFlush();
  }

  /** Sends all objects, or the changes since the requested version. */
  #sendInitialFrames(): void {
    const { collection, options, predicate } = this.#request;
    if (options.sendInitialEvents) {
      for (const object of this.#store.list(collection.name)) {
        if (predicate(object)) this.#sendEvent('ADDED', object);
      }
      this.#sendBookmark(true);
      return;
    }
    // Without a version the watch begins now. With a version above the newest it gets only later changes, as from
    // an API server (watch_cache.go), which does not report that the version does not exist yet.
    const from = Number(options.resourceVersion) || this.#store.resourceVersion;
    for (const change of this.#store.changesAfter(collection.name, from) ?? []) {
      this.#onChange(change);
    }
  }

  #onChange(change: Change): void {
    const { options, predicate } = this.#request;
    // A watch that began above the newest version gets no event up to its version.
    if (options.resourceVersion !== '' && BigInt(change.version) <= options.resourceVersion) return;
    const seen = seenBy(predicate, change);
    if (seen !== undefined) this.#sendEvent(seen.type, seen.object);
  }

  #sendEvent(type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK', object: KubeObject): void {
    this.#send(encodeEvent(this.#request.collection, type, object, this.#request.format));
  }

  #sendBookmark(initialEventsEnd: boolean): void {
    const { collection, options, format } = this.#request;
    if (!options.allowWatchBookmarks) return;
    const version = String(this.#store.resourceVersion);
    // A watch that began above the newest version must not go back.
    if (BigInt(version) < BigInt(options.resourceVersion)) return;
    this.#send(encodeBookmark(collection, version, initialEventsEnd, format));
  }

  #onTimeout(): void {
    if (this.#state === 'frozen') {
      this.#state = 'overdue';
      return;
    }
    this.#sendBookmark(false);
    this.#end();
  }

  #send(frame: Buffer): void {
    if (this.#state === 'ended') return;
    this.#pending.push(frame);
    this.#scheduleFlush();
  }

  /** All frames of one event loop turn are written as one chunk. */
  #scheduleFlush(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    queueMicrotask(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#state !== 'open' || this.#pending.length === 0) return;
    this.#response.write(Buffer.concat(this.#pending));
    this.#pending = [];
    if (this.#response.writableLength > MAX_BUFFERED_BYTES) this.cut();
  }

  #end(): void {
    if (this.#state === 'ended') return;
    this.#flush();
    this.#release();
    this.#response.end();
  }

  #release(): void {
    this.#state = 'ended';
    this.#unsubscribe();
    for (const timer of this.#timers) clearTimeout(timer);
  }
}
