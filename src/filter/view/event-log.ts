import type { ChangeType, ObjectBytes } from '../codec/codec.ts';

/** One change of what clients see. */
export interface LogEntry {
  readonly version: bigint;
  readonly type: ChangeType;
  /** The object as clients see it, carrying `version`. */
  readonly object: ObjectBytes;
}

/** How much of the past is kept; a watcher that falls further behind has to list anew. */
export interface LogBounds {
  readonly entries: number;
  /** Sum of the objects' sizes in bytes; most are shared with the view and cost nothing here. */
  readonly bytes: number;
}

/**
 * Every change of a view, in order, in a bounded window: the only buffer between the API server and the
 * watchers. A watcher is a position in it.
 *
 * Invariant: positions and versions rise together. A watch continues only from the version of an entry in the
 * window, or from that of the state just before the window.
 */
export class EventLog {
  readonly #bounds: () => LogBounds;
  readonly #listeners = new Set<() => void>();
  /** Entries from `#head` on are in the window; before that there are none any more. */
  #entries: (LogEntry | undefined)[] = [];
  #head = 0;
  #bytes = 0;
  /** Position of the first entry in the window. */
  #first = 0;
  /** Version of the state before the first entry. */
  #base: bigint;

  /** @param start version of the state that the log continues */
  constructor(start: bigint, bounds: () => LogBounds) {
    this.#base = start;
    this.#bounds = bounds;
  }

  /** Position after the newest entry. */
  get end(): number {
    return this.#first + this.#entries.length - this.#head;
  }

  /** Bytes of the objects in the window; those that are shown still cost nothing more. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of entries in the window. */
  get size(): number {
    return this.#entries.length - this.#head;
  }

  /** Version of the newest state. */
  get version(): bigint {
    return this.#entries.at(-1)?.version ?? this.#base;
  }

  /** Appends a change; versions have to rise. Watchers hear of it at {@link commit}. */
  append(entry: LogEntry): void {
    this.#entries.push(entry);
    this.#bytes += entry.object.length;
  }

  /** Tells the watchers about what was appended, all that belongs together at once, and trims the window. */
  commit(): void {
    this.#trim();
    for (const listener of this.#listeners) listener();
  }

  /** Forgets all entries and wakes the watchers: no watch continues from any version. */
  clear(): void {
    this.#base = -1n;
    // A watcher at the end has missed something, too.
    this.#first = this.end + 1;
    this.#entries = [];
    this.#head = 0;
    this.#bytes = 0;
    for (const listener of this.#listeners) listener();
  }

  /** Calls a listener at each commit; returns how to end that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Position from which a watch at this version continues; undefined when nobody can tell. */
  positionAfter(version: bigint): number | undefined {
    if (version === this.#base) return this.#first;
    let low = this.#head;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries[middle] as LogEntry).version < version) low = middle + 1;
      else high = middle;
    }
    if (this.#entries[low]?.version !== version) return undefined;
    return this.#first + low - this.#head + 1;
  }

  /** The entry at a position; undefined at the end, or before the window (see {@link holds}). */
  at(position: number): LogEntry | undefined {
    return this.#entries[position - this.#first + this.#head];
  }

  /** Whether a watcher at this position has missed nothing. */
  holds(position: number): boolean {
    return position >= this.#first;
  }

  #trim(): void {
    const { entries, bytes } = this.#bounds();
    // The newest stays, however large: else a watcher that has missed nothing else would be thrown out.
    while (this.size > 1 && (this.size > entries || this.#bytes > bytes)) {
      const oldest = this.#entries[this.#head];
      if (oldest === undefined) break;
      this.#base = oldest.version;
      this.#bytes -= oldest.object.length;
      this.#entries[this.#head] = undefined;
      this.#head++;
      this.#first++;
    }
    // Give the places back in large steps, so that trimming costs a constant for each entry.
    if (this.#head > 1024 && this.#head > this.#entries.length / 2) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }
}
