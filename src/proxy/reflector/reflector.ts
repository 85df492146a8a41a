import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { Change } from '../../filter/codec/change.ts';
import type { ObjectBytes, ObjectMeta, RawEvent } from '../../filter/codec/codec.ts';
import { queryPath } from '../api/query.ts';
import { DEFAULT_READ_LIMITS } from '../api/read-limits.ts';
import type { StoredState } from '../snapshot/snapshot-format.ts';
import { SnapshotRestore } from '../snapshot/snapshot-restore.ts';
import { isTooLargeVersion } from '../upstream/upstream-error.ts';
import { CollectionClient } from './collection-client.ts';
import { DeltaTracker } from './delta-tracker.ts';
import * as position from './position.ts';
import { type HealthStatus, isUnusable, ReflectorHealth } from './reflector-health.ts';
import type { ReflectorOptions } from './reflector-options.ts';

/** State of a reflector, for readiness and metrics. */
export interface ReflectorStatus extends HealthStatus {
  /** The objects are complete: a list or a snapshot has arrived. They may be old. */
  readonly synced: boolean;
  /**
   * When the snapshot was written that the objects come from, in milliseconds since the epoch; undefined: they come
   * from the API server.
   */
  readonly restoredFrom: number | undefined;
  /** Lists and watches sent since the start. */
  readonly lists: number;
  readonly watches: number;
}

/** What the handlers hold: nothing, the state of a snapshot, or that of the API server. */
type Contents =
  | { readonly from: 'nowhere' }
  | { readonly from: 'snapshot'; readonly savedAt: number }
  | { readonly from: 'server' };

/** A watch that lasts this long is a success, in milliseconds. */
const GOOD_WATCH_MS = 10_000;
/** A watch that ends sooner than this and brings nothing is a failure, in milliseconds. */
const SHORT_WATCH_MS = 1_000;
/** How long until an absent collection is requested again, in milliseconds. */
const ABSENT_MS = 5_000;
/** See {@link isUnanswerable}. */
const UNANSWERABLE: readonly number[] = [400, 404, 405, 406, 415, 422];

/**
 * Lists a collection, then watches it until it is stopped, and notifies its handlers of every difference.
 *
 *     run ─▶ load snapshot ─▶ list ──────▶ notify handlers ─▶ watch ─▶ notify handlers of each batch
 *                              ▲ │                            ▲  │
 *                              │ └── failed: wait, again      │  ├── ended: watch again
 *                              │                              │  └── failed: wait, watch again
 *                              └── the version cannot be continued (410, behind, unusable data)
 *     while the API server is unreachable at the start: notify handlers of the snapshot
 *
 * `Position` decides between list and watch, `ReflectorHealth` how long to wait.
 *
 * Invariant: the handlers have been notified of every change up to the version in the position, and of nothing
 * after it. A list never requests less than that version, unless the API server no longer has it.
 *
 * A watch that continues where another was cut counts as open only once the API server has reached the version
 * (see CollectionClient). Otherwise the objects would seem fresh for ever after etcd was restored from a backup.
 * A silent watch does not lead to a list: where etcd sends no progress notifications, a collection without changes
 * has no bookmarks either.
 *
 * The first list requests nothing older than the snapshot. A watch never continues from a snapshot: only a list
 * shows whether both have the same history.
 */
export class Reflector<Facts extends ObjectMeta> {
  readonly #options: ReflectorOptions<Facts>;
  readonly #client: CollectionClient;
  readonly #tracker: DeltaTracker<Facts>;
  readonly #log: Logger;
  readonly #snapshot: SnapshotRestore | undefined;
  readonly #health: ReflectorHealth;
  #position = position.initialPosition('0');
  #contents: Contents = { from: 'nowhere' };
  readonly #sent = { lists: 0, watches: 0 };

  constructor(options: ReflectorOptions<Facts>) {
    this.#options = options;
    const { codec, decode, snapshots: store, bounds = DEFAULT_READ_LIMITS } = options;
    this.#client = new CollectionClient({ ...options, bounds });
    this.#tracker = new DeltaTracker((object) => codec.meta(object), decode, bounds);
    this.#log = options.logger.child({ collection: queryPath(options.query) });
    this.#health = new ReflectorHealth({ logger: this.#log, random: options.random });
    if (store === undefined) return;
    this.#snapshot = new SnapshotRestore({
      ...options,
      store,
      logger: this.#log,
      restore: (stored) => this.#restore(stored),
      onNothing: (error) => options.onRefused?.(error),
    });
  }

  get status(): ReflectorStatus {
    const contents = this.#contents;
    return {
      ...this.#health.status,
      ...this.#sent,
      synced: contents.from !== 'nowhere',
      restoredFrom: contents.from === 'snapshot' ? contents.savedAt : undefined,
    };
  }

  /** Runs until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    this.#position = position.initialPosition((await this.#snapshot?.load()) || '0');
    await this.#listAndWatch(signal);
    await this.#snapshot?.close();
  }

  async #listAndWatch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const { next } = this.#position;
        if (next.verb === 'list') await this.#list(next.version, signal);
        else await this.#watch(next.reached, signal);
      } catch (error) {
        if (signal.aborted) break;
        const failure = WrapperError.from(error, 'Unreachable');
        const absent = this.#options.absentIsEmpty === true && failure.status?.code === 404;
        const wait = absent ? this.#absent() : this.#failed(failure);
        await delay(wait, undefined, { signal }).catch(() => undefined);
        if (absent) this.#health.closed();
      }
    }
  }

  async #list(version: string, signal: AbortSignal): Promise<void> {
    this.#sent.lists++;
    this.#snapshot?.listStarted();
    try {
      const { items, resourceVersion } = await this.#client.list(version, signal);
      this.#applyList(items, resourceVersion);
    } finally {
      this.#options.memory?.reading(0);
    }
  }

  #applyList(items: readonly ObjectBytes[], resourceVersion: string): void {
    const otherHistory = position.wentBack(this.#position, resourceVersion);
    const changes = this.#tracker.replace(items, otherHistory);
    this.#assertRoom(changes);
    const { from } = this.#contents;
    this.#notifyOfList(changes, resourceVersion);
    this.#position = position.listed(resourceVersion);
    this.#health.listed();
    const fields = { rv: resourceVersion, changes: changes.length };
    this.#log.debug(fields, 'listed');
    if (from !== 'snapshot') return;
    this.#log.info(fields, 'the API server has listed: its state replaces the snapshot');
  }

  /** A collection that does not exist. Returns how long to wait, in milliseconds. */
  #absent(): number {
    this.#watchOpened();
    this.#notifyOfList(this.#tracker.replace([]), '0');
    this.#position = position.listNewest(this.#position);
    return ABSENT_MS;
  }

  #notifyOfList(changes: readonly Change<Facts>[], resourceVersion: string): void {
    this.#snapshot?.listed();
    this.#notifyOfAll(changes, resourceVersion);
    this.#snapshot?.update(changes, resourceVersion);
    this.#contents = { from: 'server' };
  }

  /** Throws `Malformed`, `TooLarge` or `LimitExceeded` before any handler is notified. */
  #restore({ objects, resourceVersion, savedAt }: StoredState): readonly Change<Facts>[] {
    const changes = this.#tracker.replace(objects);
    this.#assertRoom(changes);
    // An earlier process that showed this version may have counted on from it.
    this.#notifyOfAll(changes, String(BigInt(resourceVersion) + 1n));
    this.#position = position.restored(this.#position, resourceVersion);
    this.#contents = { from: 'snapshot', savedAt };
    return changes;
  }

  /** Notifies the handlers of a complete state. */
  #notifyOfAll(changes: readonly Change<Facts>[], resourceVersion: string): void {
    this.#options.versions.observe(resourceVersion);
    for (const handler of this.#options.handlers) {
      handler.onChanges(changes);
      handler.onSynced();
    }
    this.#tracker.commit(changes);
    if (this.#contents.from === 'nowhere') this.#options.onUnanswerable?.(undefined);
  }

  #assertRoom(changes: readonly Change<Facts>[]): void {
    this.#options.memory?.objects(this.#tracker.costWith(changes));
  }

  async #watch(reached: boolean, signal: AbortSignal): Promise<void> {
    const started = performance.now();
    let hasEvents = false;
    this.#sent.watches++;
    const version = this.#position.notified;
    this.#position = position.watching(version);
    const inTime = await this.#client.watch({ version, reached }, signal, {
      opened: () => this.#watchOpened(),
      events: (events) => {
        hasEvents = true;
        this.#applyEvents(events);
      },
    });
    this.#position = position.watchEnded(this.#position, inTime);
    const lasted = performance.now() - started;
    if (lasted >= GOOD_WATCH_MS) this.#health.progressed();
    if (!hasEvents && lasted < SHORT_WATCH_MS) {
      this.#health.endedImmediately();
      throw new WrapperError('Unreachable', 'the API server ended the watch immediately');
    }
    this.#health.closed();
  }

  #watchOpened(): void {
    this.#health.opened();
    this.#options.onRefused?.(undefined);
  }

  /** Throws at an event that cannot be used, after the handlers were notified of all events before it. */
  #applyEvents(events: readonly RawEvent[]): void {
    const arrived = performance.now();
    this.#health.answered();
    const { changes, resourceVersion, error } = this.#tracker.apply(events);
    this.#assertRoom(changes);
    if (resourceVersion !== '') this.#options.versions.observe(resourceVersion);
    if (changes.length > 0) {
      for (const handler of this.#options.handlers) handler.onChanges(changes);
      this.#options.onHandled?.((performance.now() - arrived) / 1000);
    }
    this.#tracker.commit(changes);
    if (resourceVersion !== '') {
      this.#position = position.watching(resourceVersion);
      this.#snapshot?.update(changes, resourceVersion);
      this.#health.progressed();
    }
    if (error !== undefined) throw error;
  }

  /** Returns how long to wait, in milliseconds. */
  #failed(error: WrapperError): number {
    const wait = this.#health.failed(error);
    this.#snapshot?.failed(error);
    if (this.#contents.from === 'nowhere') {
      this.#options.onUnanswerable?.(isUnanswerable(error) ? error : undefined);
    }
    if (this.#health.isDenied) this.#options.onRefused?.(error);
    if (isExpired(error)) this.#position = position.expired(this.#position);
    if (isTooLargeVersion(error)) this.#position = position.listNewest(this.#position);
    if (this.#health.needsList && isUnusable(error)) {
      this.#position = position.relist(this.#position);
    }
    return wait;
  }
}

/**
 * The query itself is at fault, or the API server does not have the collection: the same query gets the same response.
 * Rights may cure 401 and 403; time may cure 408, 409, 410 and 429.
 */
function isUnanswerable({ code, status }: WrapperError): boolean {
  return code === 'Refused' && status !== undefined && UNANSWERABLE.includes(status.code);
}

/** HTTP 410, or an ERROR event with that code: the version has left the API server's window. */
function isExpired(error: WrapperError): boolean {
  return error.status?.code === 410;
}
