import type { WrapperError } from '../../errors.ts';
import type { Codec, EndpointsEdit, ObjectBytes } from '../codec/codec.ts';
import type { Resource } from '../objects/resource.ts';
import { EventFrames } from './event-frames.ts';
import { EventLog, type LogBounds } from './event-log.ts';
import { initialVersion } from './initial-version.ts';
import { OrderedObjects } from './ordered-objects.ts';
import { RecentCount } from './recent-count.ts';
import { RecentPeak } from './recent-peak.ts';
import type { VersionAllocator } from './version-allocator.ts';
import { ViewState } from './view-state.ts';

export interface ViewOptions {
  readonly resource: Resource;
  readonly codec: Codec;
  /** Gives each change its version. */
  readonly versions: VersionAllocator;
  /** Minimum size of the event log, as long as its changes are recent. */
  readonly window: LogBounds;
  /**
   * Maximum size of the event log, not counting the newest change. Default: twice the view's recent size. That is
   * enough for every object to change and change back, so a watcher does not get 410 because of it.
   */
  readonly most?: LogBounds;
  /** A monotonic clock in milliseconds; default: `performance.now`. */
  readonly now?: () => number;
}

/** An object of the API server, and what is cut from it; default: nothing. */
export type InitialObject = readonly [key: string, raw: ObjectBytes, edit?: EndpointsEdit];

/** Changes are recent for at least so long, in milliseconds: a client may read a list for minutes (LIST_MS). */
const RECENT_MS = 300_000;
/** The log keeps so many changes however old they are. */
const OLD_ENTRIES = 1_000;
const UNLIMITED: LogBounds = { entries: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };

/** What exists from {@link View.start} on. */
interface StartedView {
  readonly log: EventLog;
  readonly frames: EventFrames;
  /** The state that was read last; it lasts as long as a response that is written from it. */
  read?: WeakRef<ViewState>;
}

/**
 * What clients see of one query: its objects, and the log of their changes. A projection fills it.
 *
 * LIST and GET read the objects. A WATCH is a position in the log. A streaming list is the objects and then the log.
 * All four read the same state, so they cannot disagree. Every change gets a new version, and versions only rise.
 * A WATCH continues from a version in the log. Any other version gets 410 Expired, and the client lists again.
 *
 *   pending ◀──refuse──▶ refused      pending: clients wait; refused: they get the API server's refusal
 *      └──────start──────────┴──▶ started      close() leads from every state to closed
 */
export class View {
  readonly resource: Resource;
  #codec: Codec;
  readonly #versions: VersionAllocator;
  readonly #window: LogBounds;
  readonly #most: LogBounds;
  readonly #peak: RecentPeak;
  readonly #changes: RecentCount;
  readonly #waiting = new Set<() => void>();
  readonly #objects = new OrderedObjects();
  /** Undefined until the view has started. It stays when the view is closed, because watchers still read it. */
  #open: StartedView | undefined;
  /** The API server's refusal of the query. Without effect once the view has started. */
  #refusal: WrapperError | undefined;
  /** Why the view was closed. */
  #closed: WrapperError | undefined;

  constructor(options: ViewOptions) {
    this.resource = options.resource;
    this.#codec = options.codec;
    this.#versions = options.versions;
    this.#window = options.window;
    this.#most = options.most ?? UNLIMITED;
    this.#peak = new RecentPeak(options.now);
    this.#changes = new RecentCount(RECENT_MS, options.now);
  }

  /** Of the encoding in which all objects are. */
  get codec(): Codec {
    return this.#codec;
  }

  /** Whether the view is complete and can be read. Once true, it stays true. */
  get started(): boolean {
    return this.#open !== undefined;
  }

  /** The log. Throws before the view has started. */
  get log(): EventLog {
    return this.#assertStarted().log;
  }

  /** The log's entries as frames. Throws before the view has started. */
  get frames(): EventFrames {
    return this.#assertStarted().frames;
  }

  /** Number of objects. */
  get size(): number {
    return this.#objects.size;
  }

  /** Total size of the objects in bytes. */
  get bytes(): number {
    return this.#objects.bytes;
  }

  /** Bytes that the objects take besides; see OrderedObjects. */
  get deadBytes(): number {
    return this.#objects.deadBytes;
  }

  /**
   * Why the view cannot be served: the API server refuses the query, or the view was closed. Undefined: it can be
   * served, or a client can wait for it.
   */
  get refusal(): WrapperError | undefined {
    return this.#closed ?? (this.started ? undefined : this.#refusal);
  }

  /** Why the view was closed; undefined if it was not. */
  get closed(): WrapperError | undefined {
    return this.#closed;
  }

  /**
   * Calls back once the view has started, is refused or is closed; immediately if it already is. Returns a function
   * that cancels the call.
   */
  whenSettled(callback: () => void): () => void {
    if (this.started || this.refusal !== undefined) callback();
    else this.#waiting.add(callback);
    return () => this.#waiting.delete(callback);
  }

  /** Throws why the view was closed, if it was: clients would take the empty state for the API server's. */
  assertOpen(): void {
    if (this.#closed !== undefined) throw this.#closed;
  }

  /** Records that the API server refuses the query, or (with undefined) that it no longer does. */
  refuse(refusal: WrapperError | undefined): void {
    this.#refusal = refusal;
    if (refusal !== undefined) this.#settled();
  }

  /** Ends the view because there is no memory for it: its watches end, and its objects are released. */
  close(reason: WrapperError): void {
    this.#closed = reason;
    this.#objects.clear();
    this.#open?.log.clear();
    this.#open?.frames.clear();
    this.#settled();
  }

  /** Starts the view with its initial objects. Each gets a version by which clients recognize it after a restart. */
  start(objects: Iterable<InitialObject>): void {
    if (this.started) throw new Error('the view has started already');
    const version = this.#versions.next();
    for (const [key, raw, edit = {}] of objects) {
      const resourceVersion = this.codec.resourceVersion(raw);
      const object = this.#edited(
        raw,
        initialVersion({ resourceVersion, raw, edit }, version),
        edit,
      );
      this.#objects.set(key, object);
    }
    this.#peak.add({ entries: this.#objects.size, bytes: this.#objects.bytes });
    this.#begin(version, false);
  }

  /**
   * Starts the view at a version of the API server, with the objects that were set. Started again, it ends its watches
   * and forgets its window: no watch continues from a version before this one.
   */
  startAt(version: bigint): void {
    this.#open?.log.endWatches();
    this.#begin(version, true);
  }

  /**
   * Changes to another encoding. Watches end with 410, because their clients read the last one.
   *
   * @param rewrite sets each object in the new encoding, or deletes it
   */
  reencode(codec: Codec, rewrite: () => void): void {
    const before = this.#open?.log;
    // What is appended meanwhile is in both encodings: no watch may read it.
    before?.clear();
    this.#codec = codec;
    rewrite();
    if (before !== undefined && this.#open?.log === before) {
      this.#begin(this.#versions.next(), false);
    }
  }

  /**
   * The object as clients see it; undefined if it is not in the view. It may be part of a page of 256 KB, so whoever
   * keeps it longer than the view does keeps a copy.
   */
  get(key: string): ObjectBytes | undefined {
    return this.#objects.get(key);
  }

  /** Keys of the objects. */
  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  /**
   * The current state, in the order of the keys, as etcd has it. Throws before the view has started, and once it is
   * closed. All that read the same state share it, so that 100 slow clients keep one copy of a list of 10,000 objects.
   */
  state(): ViewState {
    this.assertOpen();
    const open = this.#assertStarted();
    const { version, end } = open.log;
    const last = open.read?.deref();
    if (last?.version === version && last.position === end) return last;
    const { codec, resource } = this;
    const read = new ViewState({ codec, resource, version, position: end }, this.#objects);
    open.read = new WeakRef(read);
    return read;
  }

  /**
   * Adds or replaces an object: appends ADDED or MODIFIED to the log. Watchers receive it at the log's next commit.
   * Returns the object as clients see it.
   *
   * @param raw the API server's object; only its version changes, and what the edit cuts
   * @param version default: one of this process
   */
  set(
    key: string,
    raw: ObjectBytes,
    edit?: EndpointsEdit,
    version = this.#versions.next(),
  ): ObjectBytes {
    const object = this.#edited(raw, version, edit);
    const before = this.#objects.set(key, object);
    this.#open?.log.append({ version, type: before === undefined ? 'ADDED' : 'MODIFIED', object });
    return object;
  }

  /** Removes an object: appends DELETED with the last state that clients saw. Does nothing if it is not in the view. */
  delete(key: string, version?: bigint): void {
    const before = this.#objects.delete(key);
    if (before === undefined) return;
    const at = version ?? this.#versions.next();
    this.#open?.log.append({ version: at, type: 'DELETED', object: this.#edited(before, at) });
  }

  #begin(version: bigint, isApiServers: boolean): void {
    const log = new EventLog(version, (appended) => this.#bounds(appended), isApiServers);
    this.#open = { log, frames: new EventFrames(this.codec, this.resource, log) };
    this.#settled();
  }

  #assertStarted(): StartedView {
    if (this.#open === undefined) throw new Error('the view has not started');
    return this.#open;
  }

  #settled(): void {
    for (const callback of this.#waiting) callback();
    this.#waiting.clear();
  }

  #edited(raw: ObjectBytes, version: bigint, edit?: EndpointsEdit): ObjectBytes {
    return this.codec.edit(this.resource, raw, { ...edit, resourceVersion: String(version) });
  }

  /**
   * The log's bounds, read at each commit. They follow the recent peak, because objects may leave step by step. Old
   * changes only cost memory.
   */
  #bounds(appended: number): LogBounds {
    const recent = Math.max(this.#changes.add(appended), OLD_ENTRIES);
    const peak = this.#peak.add({ entries: this.#objects.size, bytes: this.#objects.bytes });
    return {
      entries: Math.min(
        Math.max(this.#window.entries, 2 * peak.entries),
        this.#most.entries,
        recent,
      ),
      bytes: Math.min(Math.max(this.#window.bytes, 2 * peak.bytes), this.#most.bytes),
    };
  }
}
