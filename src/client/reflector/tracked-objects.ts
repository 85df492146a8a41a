import { crc32 } from 'node:zlib';
import { WrapperError } from '../../errors.ts';
import { malformed, objectTooLarge, tooManyObjects } from '../../filter/codec/bytes/malformed.ts';
import { ownedCopy } from '../../filter/codec/bytes/owned-copy.ts';
import type {
  Codec,
  Encoding,
  ObjectBytes,
  ObjectMeta,
  RawEvent,
} from '../../filter/codec/codec.ts';
import { encodingOf } from '../../filter/codec/encoded-object.ts';
import { type Change, objectKey } from '../../filter/objects/change.ts';
import { memoryCost } from '../../filter/objects/memory-cost.ts';
import { isNewer, isUpstreamVersion } from '../../filter/view/version-allocator.ts';
import { CODECS } from '../api/codecs.ts';
import { isOlder, type KnownState } from './older-state.ts';
import type { ReflectorOptions } from './reflector-options.ts';

export type TrackedObjectsOptions<Facts extends ObjectMeta> = Pick<
  ReflectorOptions<Facts>,
  'query' | 'decode' | 'handler' | 'versions' | 'readLimits' | 'memory' | 'onHandled'
>;

/** What is kept of each object, to find differences. */
interface Known {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Its memory; see memoryCost. */
  readonly cost: number;
  /** Its size in bytes. */
  readonly size: number;
  /** See {@link checksumOf}. */
  readonly checksum: number;
}

/** Changes, and what is known of each object after them; undefined: it is deleted. */
interface Delta<Facts extends ObjectMeta> {
  readonly changes: Change<Facts>[];
  readonly after: Map<string, Known | undefined>;
}

/** The changes that a batch of watch events makes. */
export interface AppliedEvents<Facts extends ObjectMeta> {
  readonly changes: readonly Change<Facts>[];
  /** The newest version of the events that could be used; empty if none could. */
  readonly resourceVersion: string;
  /** Why the events after it could not: malformed, or an ERROR event. */
  readonly error: WrapperError | undefined;
  /** Whether an event was from before the watch. An API server sends none. */
  readonly isReplay: boolean;
}

/**
 * The objects that the handler has been notified of. Turns lists and watch events into differences to them: whatever
 * happened between becomes a change, also an object that was deleted or replaced while no watch was open.
 *
 * {@link replace} and {@link apply} account for the memory first, then notify the handler, and then count the changes
 * as known. What they throw, they throw before the handler is notified; `Internal`, if the handler itself fails. The
 * same changes then come again.
 */
export class TrackedObjects<Facts extends ObjectMeta> {
  readonly #options: TrackedObjectsOptions<Facts>;
  readonly #codec: Codec;
  /** In which all objects are. */
  #encoding: Encoding;
  readonly #known = new Map<string, Known>();
  /** Sums over all objects. */
  #sums = { cost: 0, size: 0 };

  constructor(options: TrackedObjectsOptions<Facts>) {
    this.#options = options;
    this.#encoding = options.query.encoding;
    this.#codec = CODECS[this.#encoding];
  }

  /**
   * Replaces all objects by a list. Throws `Malformed`, `TooLarge` or `LimitExceeded`. Only the metadata is read of an
   * object whose state is known.
   *
   * @param encoding in which the items are
   * @param otherHistory the list may come from another history, in which the same version of an object may be another
   *   state: every object counts as changed
   */
  replace(
    items: readonly ObjectBytes[],
    resourceVersion: string,
    encoding: Encoding,
    otherHistory = false,
  ): readonly Change<Facts>[] {
    const isSame = this.#encoding === encoding;
    const delta = this.#difference(items, encoding, otherHistory || !isSame);
    const sums = this.#reserve(delta);
    const { handler, versions } = this.#options;
    versions.observe(resourceVersion);
    notify(() => {
      handler.onVersion?.(resourceVersion, true);
      if (isSame || handler.onReencoded === undefined) {
        handler.onChanges(delta.changes);
        handler.onSynced();
      } else {
        handler.onReencoded(encoding, delta.changes);
      }
    });
    this.#encoding = encoding;
    this.#commit(delta, sums);
    return delta.changes;
  }

  /**
   * Applies the events of a watch, up to the first that cannot be used. Throws `LimitExceeded`.
   *
   * A cache may begin each watch with all that it has, also what is older than what is known, or deleted already. An
   * event that is not newer than the object, or than the watch if there is no such object, changes nothing; but another
   * object of the same version does: CloudCore of KubeEdge changes slices in lists, and not in watches.
   *
   * @param from version from which the watch was requested
   */
  apply(events: readonly RawEvent[], from: string): AppliedEvents<Facts> {
    const arrived = performance.now();
    const { handler, versions, onHandled } = this.#options;
    const delta: Delta<Facts> = { changes: [], after: new Map() };
    const applied = this.#changesOf(events, from, delta);
    const { changes, resourceVersion } = applied;
    const sums = this.#reserve(delta);
    if (resourceVersion !== '') {
      versions.observe(resourceVersion);
      notify(() => handler.onVersion?.(resourceVersion, false));
    }
    if (changes.length > 0) {
      notify(() => handler.onChanges(changes));
      onHandled?.((performance.now() - arrived) / 1000);
    }
    this.#commit(delta, sums);
    return applied;
  }

  /** The encoding of all objects; before the first list, the encoding of the query. */
  get encoding(): Encoding {
    return this.#encoding;
  }

  /** Size of all objects in bytes: about the size of a list of them. */
  get bytes(): number {
    return this.#sums.size;
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

  #difference(
    items: readonly ObjectBytes[],
    encoding: Encoding,
    allChanged: boolean,
  ): Delta<Facts> {
    this.#assertCount(items.length);
    const delta: Delta<Facts> = { changes: [], after: new Map() };
    const listed = new Set<string>();
    const someAreKnown = this.#known.size > 0 && !allChanged;
    for (const object of items) {
      this.#assertSize(object);
      const same = someAreKnown ? this.#keyOfSame(object) : undefined;
      if (same !== undefined) {
        listed.add(same);
        continue;
      }
      const facts = this.#decodeNamed(object, encoding);
      const key = objectKey(facts);
      listed.add(key);
      // A few changed ones would keep all of a list that has only these.
      const kept = someAreKnown ? ownedCopy(object) : object;
      put(delta, key, this.#known.get(key), facts, kept);
    }
    for (const key of this.#known.keys()) if (!listed.has(key)) remove(delta, key);
    return delta;
  }

  /** Adds the changes that events make, one by one, up to the first event that cannot be used. */
  #changesOf(events: readonly RawEvent[], from: string, delta: Delta<Facts>): AppliedEvents<Facts> {
    const { changes, after } = delta;
    let resourceVersion = '';
    let isReplay = false;
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
        const facts = this.#decodeNamed(event.object, this.#encoding, event.type === 'BOOKMARK');
        const { resourceVersion: version } = facts;
        const key = objectKey(facts);
        if (!isNewer(from, version) && isNewer(version, resourceVersion)) resourceVersion = version;
        if (event.type === 'BOOKMARK') continue;
        if (!isNewer(version, from)) isReplay = true;
        const known = after.has(key) ? after.get(key) : this.#known.get(key);
        if (event.type === 'DELETED') {
          if (known === undefined || isNewer(known.resourceVersion, version)) continue;
          remove(delta, key, version);
          count--;
        } else if (isUsable(facts, event.object, known, from)) {
          if (known === undefined) this.#assertCount(++count);
          put(delta, key, known, facts, event.object);
        }
      }
      return { changes, resourceVersion, isReplay, error: undefined };
    } catch (error) {
      const unusable = WrapperError.from(error, 'Malformed');
      return { changes, resourceVersion, isReplay, error: unusable };
    }
  }

  /** Accounts for the memory of all objects after these changes. Returns their sums. */
  #reserve({ after }: Delta<Facts>): { cost: number; size: number } {
    let { cost, size } = this.#sums;
    after.forEach((known, key) => {
      const before = this.#known.get(key);
      cost += (known?.cost ?? 0) - (before?.cost ?? 0);
      size += (known?.size ?? 0) - (before?.size ?? 0);
    });
    this.#options.memory?.objects(cost);
    return { cost, size };
  }

  #commit({ after }: Delta<Facts>, sums: { cost: number; size: number }): void {
    this.#sums = sums;
    after.forEach((known, key) => {
      if (known === undefined) this.#known.delete(key);
      else this.#known.set(key, known);
    });
  }

  #assertCount(count: number): void {
    const { maxObjects } = this.#options.readLimits;
    if (count > maxObjects) throw tooManyObjects(maxObjects);
  }

  #assertSize(object: ObjectBytes): void {
    const { maxObjectBytes } = this.#options.readLimits;
    if (object.length <= maxObjectBytes) return;
    const name = JSON.stringify(objectKey(this.#codec.meta(object)));
    throw objectTooLarge(`the object ${name} has ${object.length} bytes`, maxObjectBytes);
  }

  /** The key of an object whose state is known; undefined if it is not. */
  #keyOfSame(object: ObjectBytes): string | undefined {
    const meta = this.#codec.meta(object);
    const key = objectKey(meta);
    const known = this.#known.get(key);
    const same = known?.uid === meta.uid && known.resourceVersion === meta.resourceVersion;
    return same ? key : undefined;
  }

  #decodeNamed(object: ObjectBytes, encoding: Encoding, bookmark = false): Facts {
    // A view could not show it: a body has one encoding.
    if (encodingOf(object) !== encoding) throw malformed(`an object that is not ${encoding}`, 0);
    const facts = this.#options.decode(object);
    const isVersion = isUpstreamVersion(facts.resourceVersion);
    if (!isVersion || (facts.name === '' && !bookmark)) {
      const name = JSON.stringify(objectKey(facts));
      const version = JSON.stringify(facts.resourceVersion.slice(0, 40));
      const problem = 'an object has no name, or a resourceVersion that no API server has';
      throw new WrapperError('Malformed', `${problem}: ${name}, ${version}`);
    }
    return facts;
  }
}

function isUsable(
  { resourceVersion }: ObjectMeta,
  object: ObjectBytes,
  known: Known | undefined,
  from: string,
): boolean {
  if (known?.resourceVersion === resourceVersion) return known.checksum !== checksumOf(object);
  return isNewer(resourceVersion, known?.resourceVersion ?? from);
}

/** Tells objects of one version apart. Only caches have such, and these have JSON alone. */
function checksumOf(object: ObjectBytes): number {
  return encodingOf(object) === 'json' ? crc32(object) : 0;
}

/** Calls a handler. An error that it does not mean to throw is a bug: `Internal`, and no fault of the API server. */
function notify(handle: () => void): void {
  try {
    handle();
  } catch (error) {
    throw WrapperError.from(error, 'Internal');
  }
}

/** @param known the object before, if it exists */
function put<Facts extends ObjectMeta>(
  { changes, after }: Delta<Facts>,
  key: string,
  known: Known | undefined,
  facts: Facts,
  object: ObjectBytes,
): void {
  const { uid, resourceVersion } = facts;
  const isSame = known?.uid === uid;
  if (known !== undefined && !isSame) changes.push({ type: 'DELETED', key });
  changes.push({ type: isSame ? 'MODIFIED' : 'ADDED', key, facts, object });
  const size = object.length;
  const checksum = checksumOf(object);
  after.set(key, { uid, resourceVersion, cost: memoryCost(facts, size), size, checksum });
}

/** @param resourceVersion the version of the deletion, if it is known */
function remove(
  { changes, after }: Delta<ObjectMeta>,
  key: string,
  resourceVersion?: string,
): void {
  changes.push({ type: 'DELETED', key, resourceVersion });
  after.set(key, undefined);
}
