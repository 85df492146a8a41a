import type { ChangeType, ObjectBytes } from '../codec/codec.ts';

/** One change of a view. */
export interface LogEntry {
  readonly version: bigint;
  readonly type: ChangeType;
  /** The object as clients see it, carrying `version`. */
  readonly object: ObjectBytes;
}

/** Size of the window. A watcher that falls further behind must list again. */
export interface LogBounds {
  readonly entries: number;
  /** Total size of the objects in bytes. The view shares an object until it changes or a list copies it into a page. */
  readonly bytes: number;
}

/**
 * The latest changes of a view, in order, in a bounded window. It is the only buffer between the API server and the
 * watchers. A watcher is a position in it.
 *
 * ```text
 *            #head                #notified
 *   dropped    │ seen by watchers │ appended │
 *             #first                        end
 * ```
 *
 * Invariant: positions and versions rise together. A watch continues only from the version of an entry in the window,
 * or from the version of the state just before the window. With the API server's own versions also from any version
 * between them: it has had the state of the entry before it.
 */
export class EventLog {
  readonly #bounds: (appended: number) => LogBounds;
  readonly #listeners = new Set<() => void>();
  /** Entries from index `#head` on are in the window. Earlier elements are undefined. */
  #entries: (LogEntry | undefined)[] = [];
  #head = 0;
  #bytes = 0;
  /** Position of the first entry in the window. */
  #first = 0;
  /** Position up to which the watchers were notified. */
  #notified = 0;
  /** Version of the state just before the first entry. */
  #base: bigint;
  readonly #isApiServers: boolean;
  /** Version up to which nothing but the entries has changed. */
  #reached: bigint;
  #isEnding = false;

  /**
   * @param start version of the initial state
   * @param bounds returns the size of the window; called at each commit with the number of its changes
   * @param isApiServers the API server has given the versions
   */
  constructor(start: bigint, bounds: (appended: number) => LogBounds, isApiServers = false) {
    this.#base = start;
    this.#reached = start;
    this.#bounds = bounds;
    this.#isApiServers = isApiServers;
  }

  /** Position after the newest entry. */
  get end(): number {
    return this.#first + this.#entries.length - this.#head;
  }

  /** Total size of the objects in the window, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of entries in the window. */
  get size(): number {
    return this.#entries.length - this.#head;
  }

  /** Version of the newest state. */
  get version(): bigint {
    const newest = this.#entries.at(-1)?.version ?? this.#base;
    if (newest < this.#reached) return this.#reached;
    return newest;
  }

  /**
   * Records that there are no changes up to a version of the API server, except the entries and those that the caller
   * appends before it commits.
   */
  reach(version: bigint): void {
    if (version > this.#reached) this.#reached = version;
  }

  /** Appends a change with a version above the newest entry. Watchers are notified at {@link commit}. */
  append(entry: LogEntry): void {
    this.#entries.push(entry);
    this.#bytes += entry.object.length;
  }

  /** Trims the window and notifies the watchers, if any change was appended since the last commit. */
  commit(): void {
    if (this.#notified === this.end) return;
    this.#trim();
    this.#notify();
  }

  /** Whether watches must end now; their clients continue from where they are. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Ends all watches. */
  endWatches(): void {
    this.#isEnding = true;
    this.#notify();
    this.#isEnding = false;
  }

  /** Drops all entries and notifies the watchers. No watch can continue from any earlier version. */
  clear(): void {
    this.#base = -1n;
    this.#reached = -1n;
    // One position is skipped, so that a watcher at the end is outside the window too.
    this.#first = this.end + 1;
    this.#entries = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#notify();
  }

  /** Calls a listener at each commit, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Position from which a watch continues after this version; undefined if the version is not in the window. */
  positionAfter(version: bigint): number | undefined {
    if (version === this.#base) return this.#first;
    if (version < this.#base || version > this.version) return undefined;
    let low = this.#head;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries[middle] as LogEntry).version < version) low = middle + 1;
      else high = middle;
    }
    const position = this.#first + low - this.#head;
    if (this.#entries[low]?.version === version) return position + 1;
    return this.#isApiServers ? position : undefined;
  }

  /** The entry at a position; undefined at the end or before the window (see {@link holds}). */
  at(position: number): LogEntry | undefined {
    return this.#entries[position - this.#first + this.#head];
  }

  /** Whether a position is in the window: a watcher there has missed nothing. */
  contains(position: number): boolean {
    return position >= this.#first;
  }

  #notify(): void {
    this.#notified = this.end;
    for (const listener of this.#listeners) listener();
  }

  #trim(): void {
    const { entries, bytes } = this.#bounds(this.end - this.#notified);
    // The newest entry stays whatever its size. Otherwise every watcher would have to list again.
    while (this.size > 1 && (this.size > entries || this.#bytes > bytes)) {
      const oldest = this.#entries[this.#head];
      if (oldest === undefined) break;
      this.#base = oldest.version;
      this.#bytes -= oldest.object.length;
      this.#entries[this.#head] = undefined;
      this.#head++;
      this.#first++;
    }
    // Copy the array in large steps, so that trimming has a constant cost per entry.
    if (this.#head > 1024 && this.#head > this.#entries.length / 2) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }
}
