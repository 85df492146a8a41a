import { isDeepStrictEqual } from 'node:util';
import { COLLECTIONS, type CollectionName, collectionNamed } from './collections.ts';
import { withDefaults } from './defaults.ts';
import { type Change, History } from './history.ts';
import { frozenCopy, isRecord, type KubeObject } from './kube-object.ts';
import { alreadyExists, conflict, invalid, notFound } from './kube-status.ts';
import { mergePatch } from './merge-patch.ts';
import { createdObject, deletedObject, keyOf, updatedObject } from './stamp.ts';
import { validateObject } from './validate.ts';

/** Settings of a {@link Store}. */
export interface StoreOptions {
  /** Changes kept per collection for watches to continue from. */
  readonly windowSize: number;
  /** The counter's value before the first write. */
  readonly initialResourceVersion: number;
}

/** Called with each change of a collection, synchronously within the write. */
export type ChangeListener = (change: Change) => void;

/** Maximum number of Events. Clients write them endlessly, so older ones are deleted. */
const MAX_EVENTS = 1000;

/**
 * All objects, with one version counter as in etcd: every write that changes something raises it by one, and the result
 * is the object's new resourceVersion. Writes are synchronous, so clients see all writes of one event loop turn
 * together.
 *
 * Objects are frozen; to change one, pass a new object. An object is named `namespace/name`, or `name` if it is
 * cluster-scoped or in the namespace `default`. Writes throw a {@link StatusError}: 404 NotFound, 409 AlreadyExists or
 * Conflict, 422 Invalid.
 */
export class Store {
  #version: number;
  readonly #objects = new Map<CollectionName, Map<string, KubeObject>>();
  readonly #histories = new Map<CollectionName, History>();
  readonly #listeners = new Map<CollectionName, Set<ChangeListener>>();

  constructor(options: StoreOptions) {
    this.#version = options.initialResourceVersion;
    for (const name of COLLECTIONS.keys()) {
      this.#objects.set(name, new Map());
      this.#histories.set(name, new History(options.windowSize, this.#version));
      this.#listeners.set(name, new Set());
    }
  }

  /** The newest version: that of the last write to any collection. */
  get resourceVersion(): number {
    return this.#version;
  }

  /** Creates an object. The default namespace is `default`. */
  create(name: CollectionName, object: KubeObject): KubeObject {
    const collection = collectionNamed(name);
    this.#assertValid(name, object);
    const created = createdObject(collection, withDefaults(collection, object), this.#version + 1);
    const key = keyOf(collection, created);
    if (this.#objectsOf(name).has(key)) throw alreadyExists(collection, created.metadata.name);
    const stored = this.#commit(name, { object: created, deleted: false });
    if (collection.kind === 'Event') this.#evictEvents(name);
    return stored;
  }

  /**
   * Replaces an object; its uid and creationTimestamp stay. Refused if `metadata.resourceVersion` or `uid` is set and
   * is not the current one. An update without a change is not a write.
   */
  update(name: CollectionName, object: KubeObject): KubeObject {
    const collection = collectionNamed(name);
    this.#assertValid(name, object);
    const previous = this.get(name, keyOf(collection, object));
    if (previous === undefined) throw notFound(collection, object.metadata.name);
    const { resourceVersion, uid } = previous.metadata;
    const stale = (object.metadata.resourceVersion ?? resourceVersion) !== resourceVersion;
    if (stale || (object.metadata.uid ?? uid) !== uid) {
      throw conflict(collection, object.metadata.name);
    }
    const whole = withDefaults(collection, object, previous);
    const same = updatedObject(collection, previous, whole, Number(resourceVersion));
    if (isDeepStrictEqual(same, previous)) return previous;
    const updated = updatedObject(collection, previous, whole, this.#version + 1);
    return this.#commit(name, { object: updated, previous, deleted: false });
  }

  /** Applies a JSON merge patch: null removes a key. */
  patch(name: CollectionName, reference: string, patch: Record<string, unknown>): KubeObject {
    const previous = this.#existing(name, reference);
    const patched = mergePatch(previous, patch) as KubeObject; // update() validates it
    return this.update(name, patched);
  }

  /** Deletes an object and returns it, with the version of the deletion. */
  delete(name: CollectionName, reference: string): KubeObject {
    const previous = this.#existing(name, reference);
    const object = deletedObject(previous, this.#version + 1);
    return this.#commit(name, { object, previous, deleted: true });
  }

  /** One object. */
  get(name: CollectionName, reference: string): KubeObject | undefined {
    return this.#objectsOf(name).get(this.#keyFrom(name, reference));
  }

  /** All objects of a collection, in the order of their keys. */
  list(name: CollectionName): KubeObject[] {
    return sorted(this.#objectsOf(name));
  }

  /** The result of {@link list} at an older version; undefined if the history does not reach back to it. */
  listAt(name: CollectionName, version: number): KubeObject[] | undefined {
    const collection = collectionNamed(name);
    const objects = new Map(this.#objectsOf(name));
    const undone = this.#historyOf(name).after(version)?.reverse();
    for (const { object, previous } of undone ?? []) {
      const key = keyOf(collection, object);
      if (previous === undefined) objects.delete(key);
      else objects.set(key, previous);
    }
    return undone === undefined ? undefined : sorted(objects);
  }

  /**
   * Replaces a collection, for example by the list of a real API server. Objects keep their uid and version. The
   * history is cleared, and open watches are not notified.
   */
  restore(name: CollectionName, objects: readonly KubeObject[], resourceVersion: number): void {
    const collection = collectionNamed(name);
    this.#version = Math.max(this.#version, resourceVersion);
    const entries = objects.map(
      (object) => [keyOf(collection, object), frozenCopy(object)] as const,
    );
    this.#objects.set(name, new Map(entries));
    this.#historyOf(name).forget(this.#version);
  }

  /** Drops all changes, as an etcd compaction does. Watches from an older version have expired. */
  compact(): void {
    for (const history of this.#histories.values()) history.forget(this.#version);
  }

  /** The oldest version from which a watch of the collection can continue. */
  oldestVersion(name: CollectionName): number {
    return this.#historyOf(name).floor;
  }

  /** Changes of a collection after a version, oldest first; undefined if some of them were dropped. */
  changesAfter(name: CollectionName, version: number): Change[] | undefined {
    return this.#historyOf(name).after(version);
  }

  /** Calls `listener` at each change of a collection until the returned function is called. */
  subscribe(name: CollectionName, listener: ChangeListener): () => void {
    const listeners = entryOf(this.#listeners, name);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }

  #commit(name: CollectionName, change: Omit<Change, 'version'>): KubeObject {
    this.#version += 1;
    const whole = { ...change, version: this.#version };
    const key = keyOf(collectionNamed(name), change.object);
    if (change.deleted) this.#objectsOf(name).delete(key);
    else this.#objectsOf(name).set(key, change.object);
    this.#historyOf(name).push(whole);
    for (const listener of entryOf(this.#listeners, name)) listener(whole);
    return change.object;
  }

  #evictEvents(name: CollectionName): void {
    const objects = this.#objectsOf(name);
    const [oldest] = objects.keys();
    if (objects.size > MAX_EVENTS && oldest !== undefined) this.delete(name, oldest);
  }

  #assertValid(name: CollectionName, object: unknown): void {
    const { kind, group } = collectionNamed(name);
    const record = isRecord(object) ? object : {};
    const errors = validateObject(collectionNamed(name), record);
    if (errors.length === 0) return;
    const given = isRecord(record.metadata) ? record.metadata.name : undefined;
    throw invalid({ kind, group, name: typeof given === 'string' ? given : '' }, errors);
  }

  #existing(name: CollectionName, reference: string): KubeObject {
    const object = this.get(name, reference);
    if (object === undefined) {
      throw notFound(collectionNamed(name), reference.slice(reference.indexOf('/') + 1));
    }
    return object;
  }

  #keyFrom(name: CollectionName, reference: string): string {
    if (!collectionNamed(name).namespaced || reference.includes('/')) return reference;
    return `default/${reference}`;
  }

  #objectsOf(name: CollectionName): Map<string, KubeObject> {
    return entryOf(this.#objects, name);
  }

  #historyOf(name: CollectionName): History {
    return entryOf(this.#histories, name);
  }
}

function entryOf<V>(map: ReadonlyMap<CollectionName, V>, name: CollectionName): V {
  const entry = map.get(name);
  if (entry === undefined) throw new RangeError(`unknown collection ${name}`);
  return entry;
}

function sorted(objects: ReadonlyMap<string, KubeObject>): KubeObject[] {
  return [...objects.keys()].sort().flatMap((key) => objects.get(key) ?? []);
}
