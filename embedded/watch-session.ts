import type { ServerResponse } from 'node:http';
import type { Collection } from './collections.ts';
import { type Change, seenBy } from './history.ts';
import type { KubeObject } from './kube-object.ts';
import { expired, type KubeStatus, tooLargeResourceVersion } from './kube-status.ts';
import type { ListOptions } from './list-options.ts';
import type { Predicate } from './selector.ts';
import type { Store } from './store.ts';
import { encodeBookmark, encodeErrorEvent, encodeEvent, type Format } from './wire.ts';

/** What a watch is made of. */
export interface WatchRequest {
  readonly collection: Collection;
  readonly predicate: Predicate;
  readonly options: ListOptions;
  readonly format: Format;
  /** Milliseconds between bookmarks. */
  readonly bookmarkIntervalMs: number;
}

/** A client that is this far behind is dropped, as an API server terminates a watcher that blocks it. */
const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;

/** Go's default is a random time of 30 to 60 minutes. */
const DEFAULT_TIMEOUT_SECONDS = 30 * 60;

/** One open watch, from its first event to its end. */
export class WatchSession {
  readonly #store: Store;
  readonly #request: WatchRequest;
  readonly #response: ServerResponse;
  readonly #timers: NodeJS.Timeout[] = [];
  #unsubscribe: () => void = () => {};
  #pending: Buffer[] = [];
  #flushScheduled = false;
  #frozen = false;
  #overdue = false;
  #ended = false;

  /** Takes over a response whose headers are set. */
  constructor(store: Store, request: WatchRequest, response: ServerResponse) {
    this.#store = store;
    this.#request = request;
    this.#response = response;
  }

  /** Why the watch cannot begin where it asks to; undefined when it can. */
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

  /** Sends what has happened so far and goes on with what happens; all in one turn, so nothing is missed. */
  start(): void {
    this.#response.flushHeaders();
    const refusal = this.refusal();
    if (refusal !== undefined) {
      this.#send(encodeErrorEvent(refusal, this.#request.format.encoding));
      this.#end();
      return;
    }
    this.#sendBeginning();
    const { collection, options, bookmarkIntervalMs } = this.#request;
    this.#unsubscribe = this.#store.subscribe(collection.name, (change) => this.#onChange(change));
    this.#response.once('close', () => this.#release());
    const seconds = options.timeoutSeconds ?? 0;
    const timeout = (seconds > 0 ? seconds : DEFAULT_TIMEOUT_SECONDS) * 1000;
    // setTimeout takes 31 bits.
    this.#timers.push(setTimeout(() => this.#onTimeout(), Math.min(timeout, 0x7fff_ffff)));
    if (options.allowWatchBookmarks) {
      this.#timers.push(setInterval(() => this.#sendBookmark(false), bookmarkIntervalMs));
    }
  }

  /** Ends the stream as a server does that shuts down: regularly, between two events. */
  close(): void {
    this.#frozen = false;
    this.#end();
  }

  /** Destroys the connection. */
  cut(): void {
    this.#release();
    this.#response.destroy();
  }

  /** Stops sending, with the connection left open, as if the network dropped every packet. */
  freeze(): void {
    this.#frozen = true;
  }

  /** Sends what was held back and goes on. */
  thaw(): void {
    if (!this.#frozen) return;
    this.#frozen = false;
    if (this.#overdue) this.#end();
    else this.#scheduleFlush();
  }

  /** Sends the state, or the changes since the version asked for. */
  #sendBeginning(): void {
    const { collection, options, predicate } = this.#request;
    if (options.sendInitialEvents) {
      for (const object of this.#store.list(collection.name)) {
        if (predicate(object)) this.#sendEvent('ADDED', object);
      }
      this.#sendBookmark(true);
      return;
    }
    // Without a version it begins now. Above the newest, only changes after that version are sent
    // (watch_cache.go): nothing says that it has not been reached.
    const from = Number(options.resourceVersion) || this.#store.resourceVersion;
    for (const change of this.#store.changesAfter(collection.name, from) ?? []) {
      this.#onChange(change);
    }
  }

  #onChange(change: Change): void {
    const { options, predicate } = this.#request;
    // Bounds the events of a watch that began above the newest version.
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
    // Never back in time for a watch that began above the newest version.
    if (BigInt(version) < BigInt(options.resourceVersion)) return;
    this.#send(encodeBookmark(collection, version, initialEventsEnd, format));
  }

  #onTimeout(): void {
    if (this.#frozen) {
      this.#overdue = true;
      return;
    }
    this.#sendBookmark(false);
    this.#end();
  }

  #send(frame: Buffer): void {
    if (this.#ended) return;
    this.#pending.push(frame);
    this.#scheduleFlush();
  }

  /** What one turn writes goes out in one chunk. */
  #scheduleFlush(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    queueMicrotask(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#frozen || this.#ended || this.#pending.length === 0) return;
    this.#response.write(Buffer.concat(this.#pending));
    this.#pending = [];
    if (this.#response.writableLength > MAX_BUFFERED_BYTES) this.cut();
  }

  #end(): void {
    if (this.#ended) return;
    this.#flush();
    this.#release();
    this.#response.end();
  }

  #release(): void {
    this.#ended = true;
    this.#unsubscribe();
    for (const timer of this.#timers) clearTimeout(timer);
  }
}
