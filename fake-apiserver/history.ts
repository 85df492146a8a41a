import type { KubeObject } from './kube-object.ts';
import type { Predicate } from './selector.ts';
import type { EventType } from './wire.ts';

/** One write. */
export interface Change {
  /** The store's counter after the write. */
  readonly version: number;
  /** The object after the write; after a deletion its last content with the version of the deletion. */
  readonly object: KubeObject;
  readonly deleted: boolean;
  /** The object before the write; absent when it was created. */
  readonly previous?: KubeObject;
}

/** A change as an event of a watch with a selector. */
export interface SeenChange {
  readonly type: EventType;
  readonly object: KubeObject;
}

/**
 * Turns a change into the event of a watch with a selector (cache_watcher.go, convertToWatchEvent). An object that
 * begins to match is ADDED. One that no longer matches is DELETED, with its last matching content and the version of
 * the change. Undefined if the watch gets no event.
 */
export function seenBy(predicate: Predicate, change: Change): SeenChange | undefined {
  const { object, previous, deleted } = change;
  const now = !deleted && predicate(object);
  const before = previous !== undefined && predicate(previous);
  if (now) return { type: before ? 'MODIFIED' : 'ADDED', object };
  if (!before) return undefined;
  return { type: 'DELETED', object: atVersion(previous, change.version) };
}

/** The object with another resourceVersion. */
export function atVersion(object: KubeObject, version: number): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
}

/** The latest changes of one collection, at most `size` of them. */
export class History {
  readonly #size: number;
  #changes: Change[] = [];
  #floor: number;

  /** @param floor the version at which the history begins */
  constructor(size: number, floor: number) {
    this.#size = size;
    this.#floor = floor;
  }

  /** The oldest version from which a watch can continue. */
  get floor(): number {
    return this.#floor;
  }

  /** Appends a change and drops the oldest ones beyond the size. */
  push(change: Change): void {
    this.#changes.push(change);
    this.#raiseFloor();
    // Trimmed in batches, because shifting an array of thousands at each write is slow.
    if (this.#changes.length >= this.#size * 2) this.#changes = this.#changes.slice(-this.#size);
  }

  #raiseFloor(): void {
    const oldestKept = this.#changes.length - this.#size;
    const dropped = oldestKept > 0 ? this.#changes[oldestKept - 1] : undefined;
    if (dropped !== undefined) this.#floor = Math.max(this.#floor, dropped.version);
  }

  /** Drops all changes up to `version`. */
  forget(version: number): void {
    this.#floor = Math.max(this.#floor, version);
    this.#changes = this.#changes.filter((change) => change.version > version);
  }

  /** Changes after `version`, oldest first; undefined if some of them were dropped. */
  after(version: number): Change[] | undefined {
    if (version < this.#floor) return undefined;
    return this.#changes.filter((change) => change.version > version);
  }
}
