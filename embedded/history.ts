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

/** A change as a watcher of a selection sees it. */
export interface SeenChange {
  readonly type: EventType;
  readonly object: KubeObject;
}

/**
 * What a change is to a watcher that sees only part of the collection (cache_watcher.go,
 * convertToWatchEvent): an object that enters the selection is ADDED, one that leaves it is DELETED, with
 * its last content inside the selection and the version of the change; undefined when the watcher does not
 * see it.
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

  /** `floor` is the version at which the history begins. */
  constructor(size: number, floor: number) {
    this.#size = size;
    this.#floor = floor;
  }

  /** The oldest version from which a watch can continue. */
  get floor(): number {
    return this.#floor;
  }

  /** Appends a change and forgets the oldest ones beyond the size. */
  push(change: Change): void {
    this.#changes.push(change);
    this.#raiseFloor();
    // Cut in batches: shifting an array of thousands at each write is slow.
    if (this.#changes.length >= this.#size * 2) this.#changes = this.#changes.slice(-this.#size);
  }

  #raiseFloor(): void {
    const oldestKept = this.#changes.length - this.#size;
    const dropped = oldestKept > 0 ? this.#changes[oldestKept - 1] : undefined;
    if (dropped !== undefined) this.#floor = Math.max(this.#floor, dropped.version);
  }

  /** Forgets all changes up to `version`. */
  forget(version: number): void {
    this.#floor = Math.max(this.#floor, version);
    this.#changes = this.#changes.filter((change) => change.version > version);
  }

  /** Changes after `version`, oldest first; undefined when some of them are forgotten. */
  after(version: number): Change[] | undefined {
    if (version < this.#floor) return undefined;
    return this.#changes.filter((change) => change.version > version);
  }
}
