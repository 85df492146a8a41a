import type { WrapperError } from '../../errors.ts';
import type { Codec, ObjectBytes } from '../codec/codec.ts';
import type { Resource } from '../codec/resource.ts';
import { EventFrames } from './event-frames.ts';
import { EventLog, type LogBounds } from './event-log.ts';
import { RecentPeak } from './recent-peak.ts';
import type { VersionAllocator } from './version-allocator.ts';

/** A consistent state of a view. */
export interface Snapshot {
  readonly version: bigint;
  /** Position in the log from which a watcher continues after this state. */
  readonly position: number;
  readonly items: readonly ObjectBytes[];
}

export interface ViewOptions {
  readonly resource: Resource;
  readonly codec: Codec;
  readonly clock: VersionAllocator;
  /** The least that the event log keeps. */
  readonly window: LogBounds;
  /**
   * The most that it keeps, but for the newest change. Default: it always has room for a change of every object at
   * once and back, so that no watcher is thrown out by that.
   */
  readonly most?: LogBounds | undefined;
  /** A monotonic clock in milliseconds; default: `performance.now`. */
  readonly now?: () => number;
}

const UNLIMITED: LogBounds = { entries: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };

/**
 * What clients see of one question: its objects as they are shown, and the log of their changes. Filled by a
 * projection; knows nothing of why an object looks as it does.
 */
export class View {
  readonly resource: Resource;
  readonly codec: Codec;
  readonly #clock: VersionAllocator;
  readonly #window: LogBounds;
  readonly #most: LogBounds;
  readonly #objects = new Map<string, ObjectBytes>();
  readonly #waiting = new Set<() => void>();
  #refusal: WrapperError | undefined;
  #closed: WrapperError | undefined;
  #bytes = 0;
  readonly #peak: RecentPeak;
  #log: EventLog | undefined;
  #frames: EventFrames | undefined;

  constructor(options: ViewOptions) {
    this.resource = options.resource;
    this.codec = options.codec;
    this.#clock = options.clock;
    this.#window = options.window;
    this.#most = options.most ?? UNLIMITED;
    this.#peak = new RecentPeak(options.now);
  }

  /** Whether the view is complete and can be read. Once true it stays so. */
  get started(): boolean {
    return this.#log !== undefined;
  }

  /** The log; throws before the view has started. */
  get log(): EventLog {
    if (this.#log === undefined) throw new Error('the view has not started');
    return this.#log;
  }

  /** The log's entries as frames; throws before the view has started. */
  get frames(): EventFrames {
    if (this.#frames === undefined) throw new Error('the view has not started');
    return this.#frames;
  }

  /** Number of objects shown. */
  get size(): number {
    return this.#objects.size;
  }

  /** Bytes of the objects shown. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Why the view is not served: the API server does not take the question at all, so that as things stand it will never
   * start, or it was closed.
   */
  get refusal(): WrapperError | undefined {
    return this.#closed ?? (this.started ? undefined : this.#refusal);
  }

  /** Why the view was closed; undefined: it was not. */
  get closed(): WrapperError | undefined {
    return this.#closed;
  }

  /** Calls back once the view has started or is refused, at once when so; returns how to stop waiting. */
  whenSettled(callback: () => void): () => void {
    if (this.started || this.refusal !== undefined) callback();
    else this.#waiting.add(callback);
    return () => this.#waiting.delete(callback);
  }

  /** Notes that the API server does not take the question, or (with undefined) that it may after all. */
  refuse(refusal: WrapperError | undefined): void {
    this.#refusal = refusal;
    if (refusal !== undefined) this.#settled();
  }

  /** Ends the view, for there is no room for it: its watches end, and what it holds is let go. */
  close(reason: WrapperError): void {
    this.#closed = reason;
    this.#objects.clear();
    this.#bytes = 0;
    this.#log?.clear();
    this.#frames?.clear();
    this.#settled();
  }

  /**
   * Opens the view with the state it has from now on. The objects are made for one version, that of the
   * state as a whole.
   */
  start(
    makeObjects: (version: string) => Iterable<readonly [key: string, object: ObjectBytes]>,
  ): void {
    if (this.started) throw new Error('the view has started already');
    const version = this.#clock.next();
    for (const [key, object] of makeObjects(String(version))) {
      this.#objects.set(key, object);
      this.#bytes += object.length;
    }
    this.#peak.note({ entries: this.#objects.size, bytes: this.#bytes });
    this.#log = new EventLog(version, () => this.#bounds());
    this.#frames = new EventFrames(this.codec, this.resource, this.#log);
    this.#settled();
  }

  /** {@link start}, with objects as the API server has them, but for the resourceVersion. */
  startAsIs(objects: Iterable<readonly [key: string, object: ObjectBytes]>): void {
    this.start((version) =>
      Array.from(objects, ([key, object]) => [key, this.#withVersion(object, version)] as const),
    );
  }

  /** The object as it is shown; undefined when it is not. */
  get(key: string): ObjectBytes | undefined {
    return this.#objects.get(key);
  }

  /** Keys of the objects shown. */
  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  snapshot(): Snapshot {
    const { version, end } = this.log;
    return { version, position: end, items: [...this.#objects.values()] };
  }

  /** Shows an object: ADDED or MODIFIED. `make` writes it for its new version. */
  set(key: string, make: (version: string) => ObjectBytes): ObjectBytes {
    const version = this.#clock.next();
    const object = make(String(version));
    const before = this.#objects.get(key);
    this.#objects.set(key, object);
    this.#bytes += object.length - (before?.length ?? 0);
    this.log.append({ version, type: before === undefined ? 'ADDED' : 'MODIFIED', object });
    return object;
  }

  /** {@link set}, of an object as the API server has it, but for the resourceVersion. */
  showAsIs(key: string, object: ObjectBytes): void {
    this.set(key, (version) => this.#withVersion(object, version));
  }

  /** Takes an object away: DELETED, in the state in which it was last shown. No event if it was not. */
  delete(key: string): void {
    const before = this.#objects.get(key);
    if (before === undefined) return;
    this.#objects.delete(key);
    this.#bytes -= before.length;
    const version = this.#clock.next();
    const object = this.#withVersion(before, String(version));
    this.log.append({ version, type: 'DELETED', object });
  }

  #settled(): void {
    for (const callback of this.#waiting) callback();
    this.#waiting.clear();
  }

  #withVersion(object: ObjectBytes, resourceVersion: string): ObjectBytes {
    return this.codec.splice(this.resource, object, { resourceVersion });
  }

  /** Called at each commit. What was there lately counts too: all of it may be gone now, step by step. */
  #bounds(): LogBounds {
    const peak = this.#peak.note({ entries: this.#objects.size, bytes: this.#bytes });
    return {
      entries: Math.min(Math.max(this.#window.entries, 2 * peak.entries), this.#most.entries),
      bytes: Math.min(Math.max(this.#window.bytes, 2 * peak.bytes), this.#most.bytes),
    };
  }
}
