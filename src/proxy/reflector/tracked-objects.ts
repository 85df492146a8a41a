import type { Change } from '../../filter/codec/change.ts';
import type { ObjectBytes, ObjectMeta, RawEvent } from '../../filter/codec/codec.ts';
import { DEFAULT_READ_LIMITS } from '../api/read-limits.ts';
import { type AppliedEvents, DeltaTracker, type KnownObject } from './delta-tracker.ts';
import type { ReflectorOptions } from './reflector-options.ts';

/**
 * The objects that the handlers have been notified of. Each method accounts for the memory first, then notifies the
 * handlers, and then counts the changes as known. What it throws, it throws before any handler is notified.
 */
export class TrackedObjects<Facts extends ObjectMeta> {
  readonly #options: ReflectorOptions<Facts>;
  readonly #tracker: DeltaTracker<Facts>;

  constructor(options: ReflectorOptions<Facts>) {
    const { codec, decode, readLimits = DEFAULT_READ_LIMITS } = options;
    this.#options = options;
    this.#tracker = new DeltaTracker((object) => codec.meta(object), decode, readLimits);
  }

  /** See DeltaTracker.newest. */
  newest(count: number): readonly KnownObject[] {
    return this.#tracker.newest(count);
  }

  /** See DeltaTracker.olderIn. */
  olderIn(items: readonly ObjectBytes[]): string | undefined {
    return this.#tracker.olderIn(items);
  }

  /**
   * Replaces all objects. Throws `Malformed`, `TooLarge` or `LimitExceeded`.
   *
   * @param before called before the handlers are notified
   * @param otherHistory see DeltaTracker.replace
   */
  replace(
    items: readonly ObjectBytes[],
    resourceVersion: string,
    { otherHistory = false, before = (): void => {} } = {},
  ): readonly Change<Facts>[] {
    const changes = this.#tracker.replace(items, otherHistory);
    this.#assertRoom(changes);
    before();
    this.#options.versions.observe(resourceVersion);
    for (const handler of this.#options.handlers) {
      handler.onChanges(changes);
      handler.onSynced();
    }
    this.#tracker.commit(changes);
    return changes;
  }

  /** Applies the events of a watch, up to the first that cannot be used. Throws `LimitExceeded`. */
  apply(events: readonly RawEvent[]): AppliedEvents<Facts> {
    const arrived = performance.now();
    const { handlers, versions, onHandled } = this.#options;
    const applied = this.#tracker.apply(events);
    const { changes, resourceVersion } = applied;
    this.#assertRoom(changes);
    if (resourceVersion !== '') versions.observe(resourceVersion);
    if (changes.length > 0) {
      for (const handler of handlers) handler.onChanges(changes);
      onHandled?.((performance.now() - arrived) / 1000);
    }
    this.#tracker.commit(changes);
    return applied;
  }

  #assertRoom(changes: readonly Change<Facts>[]): void {
    this.#options.memory?.objects(this.#tracker.costWith(changes));
  }
}
