import { WrapperError } from '../../errors.ts';
import { objectTooLarge, tooManyObjects } from '../../filter/codec/bytes/malformed.ts';
import type { Codec, ObjectBytes, ObjectMeta, RawEvent } from '../../filter/codec/codec.ts';
import { type Change, objectKey } from '../../filter/codec/facts/change.ts';
import { memoryCost } from '../../filter/codec/facts/memory-cost.ts';
import { isOlder, type KnownState } from './older-state.ts';
import type { ReflectorOptions } from './reflector-options.ts';

export type TrackedObjectsOptions<Facts extends ObjectMeta> = Pick<
  ReflectorOptions<Facts>,
  'decode' | 'handler' | 'versions' | 'readLimits' | 'memory' | 'onHandled'
> & { readonly codec: Pick<Codec, 'meta'> };

/** What is kept of each object, to find differences. */
interface Known {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Its memory; see memoryCost. */
  readonly cost: number;
  /** Its size in bytes. */
  readonly size: number;
}

/** The changes that a batch of watch events makes. */
export interface AppliedEvents<Facts extends ObjectMeta> {
  readonly changes: readonly Change<Facts>[];
  /** Version of the last event that could be used; empty if none could. */
  readonly resourceVersion: string;
  /** Why the events after it could not: malformed, or an ERROR event. */
  readonly error: WrapperError | undefined;
}

/**
 * The objects that the handler has been notified of. Turns lists and watch events into differences to them: whatever
 * happened between becomes a change, also an object that was deleted or replaced while no watch was open.
 *
 * {@link replace} and {@link apply} account for the memory first, then notify the handler, and then count the changes as
 * known. What they throw, they throw before the handler is notified.
 */
export class TrackedObjects<Facts extends ObjectMeta> {
  readonly #options: TrackedObjectsOptions<Facts>;
  readonly #known = new Map<string, Known>();
  #cost = 0;
  #bytes = 0;

  constructor(options: TrackedObjectsOptions<Facts>) {
    this.#options = options;
  }

  /**
   * Replaces all objects by a list. Throws `Malformed`, `TooLarge` or `LimitExceeded`. Only the metadata is read of an
   * object whose state is known.
   *
   * @param otherHistory the list may come from another history, in which the same version of an object may be another
   *   state: every object counts as changed
   */
  replace(
    items: readonly ObjectBytes[],
    resourceVersion: string,
    otherHistory = false,
  ): readonly Change<Facts>[] {
    const changes = this.#difference(items, otherHistory);
    this.#assertRoom(changes);
    const { handler, versions } = this.#options;
    versions.observe(resourceVersion);
    handler.onVersion?.(resourceVersion, true);
    handler.onChanges(changes);
    handler.onSynced();
    this.#commit(changes);
    return changes;
  }

  /** Applies the events of a watch, up to the first that cannot be used. Throws `LimitExceeded`. */
  apply(events: readonly RawEvent[]): AppliedEvents<Facts> {
    const arrived = performance.now();
    const { handler, versions, onHandled } = this.#options;
    const applied = this.#changesOf(events);
    const { changes, resourceVersion } = applied;
    this.#assertRoom(changes);
    if (resourceVersion !== '') {
      versions.observe(resourceVersion);
      handler.onVersion?.(resourceVersion, false);
    }
    if (changes.length > 0) {
      handler.onChanges(changes);
      onHandled?.((performance.now() - arrived) / 1000);
    }
    this.#commit(changes);
    return applied;
  }

  /** Size of all objects in bytes: about that of a list of them. */
  get bytes(): number {
    return this.#bytes;
  }

  /** All objects by key. */
  get known(): KnownState['objects'] {
    return this.#known;
  }

  /** The objects that changed last, at most `count`, the newest first. */
  newest(count: number): KnownState['objects'] {
    const found: [key: string, known: Known][] = [];
    for (const entry of this.#known) {
      const { resourceVersion } = entry[1];
      const last = found[count - 1]?.[1];
      if (last !== undefined && !isOlder(last.resourceVersion, resourceVersion)) continue;
      const at = found.findIndex(([, each]) => isOlder(each.resourceVersion, resourceVersion));
      found.splice(at < 0 ? found.length : at, 0, entry);
      found.length = Math.min(found.length, count);
    }
    return new Map(found);
  }

  #difference(items: readonly ObjectBytes[], otherHistory: boolean): Change<Facts>[] {
    this.#assertCount(items.length);
    const changes: Change<Facts>[] = [];
    const listed = new Set<string>();
    const someAreKnown = this.#known.size > 0 && !otherHistory;
    for (const object of items) {
      this.#assertSize(object);
      const same = someAreKnown ? this.#keyOfSame(object) : undefined;
      if (same !== undefined) {
        listed.add(same);
        continue;
      }
      const facts = this.#decodeNamed(object);
      const key = objectKey(facts);
      listed.add(key);
      changes.push(...changesTo(key, this.#known.get(key), facts, object));
    }
    for (const key of this.#known.keys())
      if (!listed.has(key)) changes.push({ type: 'DELETED', key });
    return changes;
  }

  /** The changes that events make, one by one, up to the first event that cannot be used. */
  #changesOf(events: readonly RawEvent[]): AppliedEvents<Facts> {
    const changes: Change<Facts>[] = [];
    /** Objects that this batch itself has changed. */
    const recent = new Map<string, Pick<Known, 'uid'> | undefined>();
    let resourceVersion = '';
    let count = this.#known.size;
    try {
      for (const event of events) {
        if (event.type === 'ERROR') {
          const { code, reason, message } = event.status;
          throw new WrapperError('Refused', `the watch ended: ${code} ${reason} ${message}`, {
            status: event.status,
          });
        }
        this.#assertSize(event.object);
        const facts = this.#decodeNamed(event.object, event.type === 'BOOKMARK');
        const key = objectKey(facts);
        if (event.type !== 'BOOKMARK') {
          const known = recent.has(key) ? recent.get(key) : this.#known.get(key);
          if (event.type !== 'DELETED') {
            if (known === undefined) this.#assertCount(++count);
            changes.push(...changesTo(key, known, facts, event.object));
            recent.set(key, facts);
          } else if (known !== undefined) {
            changes.push({ type: 'DELETED', key, resourceVersion: facts.resourceVersion });
            recent.set(key, undefined);
            count--;
          }
        }
        resourceVersion = facts.resourceVersion;
      }
      return { changes, resourceVersion, error: undefined };
    } catch (error) {
      return { changes, resourceVersion, error: WrapperError.from(error, 'Malformed') };
    }
  }

  /** Accounts for the memory of all objects after these changes. */
  #assertRoom(changes: readonly Change<Facts>[]): void {
    const { memory } = this.#options;
    if (memory === undefined) return;
    const costs = new Map<string, number>();
    for (const change of changes) costs.set(change.key, costOf(change));
    let sum = this.#cost;
    for (const [key, cost] of costs) sum += cost - (this.#known.get(key)?.cost ?? 0);
    memory.objects(sum);
  }

  #commit(changes: readonly Change<Facts>[]): void {
    for (const change of changes) {
      const cost = costOf(change);
      const size = change.type === 'DELETED' ? 0 : change.object.length;
      const before = this.#known.get(change.key);
      this.#cost += cost - (before?.cost ?? 0);
      this.#bytes += size - (before?.size ?? 0);
      if (change.type === 'DELETED') this.#known.delete(change.key);
      else {
        const { uid, resourceVersion } = change.facts;
        this.#known.set(change.key, { uid, resourceVersion, cost, size });
      }
    }
  }

  #assertCount(count: number): void {
    const { maxObjects } = this.#options.readLimits;
    if (count > maxObjects) throw tooManyObjects(maxObjects);
  }

  #assertSize(object: ObjectBytes): void {
    const { maxObjectBytes } = this.#options.readLimits;
    if (object.length <= maxObjectBytes) return;
    const name = JSON.stringify(objectKey(this.#options.codec.meta(object)));
    throw objectTooLarge(`the object ${name} has ${object.length} bytes`, maxObjectBytes);
  }

  /** The key of an object whose state is known; undefined if it is not. */
  #keyOfSame(object: ObjectBytes): string | undefined {
    const meta = this.#options.codec.meta(object);
    const key = objectKey(meta);
    const known = this.#known.get(key);
    const same = known?.uid === meta.uid && known.resourceVersion === meta.resourceVersion;
    return same ? key : undefined;
  }

  #decodeNamed(object: ObjectBytes, bookmark = false): Facts {
    const facts = this.#options.decode(object);
    if (!/^[0-9]+$/.test(facts.resourceVersion) || (facts.name === '' && !bookmark)) {
      const name = objectKey(facts);
      throw new WrapperError(
        'Malformed',
        `an object has no name or no decimal resourceVersion: ${JSON.stringify(name)}, ` +
          JSON.stringify(facts.resourceVersion),
      );
    }
    return facts;
  }
}

function costOf(change: Change): number {
  return change.type === 'DELETED' ? 0 : memoryCost(change.facts, change.object.length);
}

function changesTo<Facts extends ObjectMeta>(
  key: string,
  known: Pick<Known, 'uid'> | undefined,
  facts: Facts,
  object: ObjectBytes,
): Change<Facts>[] {
  if (known === undefined) return [{ type: 'ADDED', key, facts, object }];
  if (known.uid === facts.uid) return [{ type: 'MODIFIED', key, facts, object }];
  return [
    { type: 'DELETED', key },
    { type: 'ADDED', key, facts, object },
  ];
}
