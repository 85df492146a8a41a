import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { Change, ChangeHandler } from '../../filter/codec/change.ts';
import type { Codec, ObjectBytes, ObjectMeta, RawEvent } from '../../filter/codec/codec.ts';
import { parseVersion, type VersionAllocator } from '../../filter/view/version-allocator.ts';
import { type Query, queryPath } from '../api/query.ts';
import { DEFAULT_READ_LIMITS, type ReadLimits } from '../api/read-limits.ts';
import { SnapshotRestore } from '../snapshot/snapshot-restore.ts';
import type { SnapshotStore } from '../snapshot/snapshot-store.ts';
import type { StoredState } from '../snapshot/snapshot-writer.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { causeOf, isTooLargeVersion } from '../upstream/upstream-error.ts';
import { createBackoff } from '../util/backoff.ts';
import type { ReadMemory } from '../util/read-memory.ts';
import { CollectionClient } from './collection-client.ts';
import { DeltaTracker } from './delta-tracker.ts';

/** How a reflector stands with the API server, for readiness and metrics. */
export interface ReflectorStatus {
  /** A list has arrived at least once: what is known is complete, though maybe old. */
  readonly synced: boolean;
  /** A watch is open. */
  readonly connected: boolean;
  /** Why the last attempt failed; undefined while all goes well. */
  readonly error: WrapperError | undefined;
  /** Attempts that failed since all went well. */
  readonly failures: number;
  /** When the API server was last heard of on this question, in milliseconds since the epoch; 0: never. */
  readonly lastContact: number;
  /** How long ago that was, in milliseconds, whatever became of the clock since; Infinity: never. */
  readonly silentMs: number;
  /**
   * For how long changes may have been missed, in milliseconds: since the last watch of any use ended or a list
   * came; 0 while a watch is open.
   */
  readonly staleMs: number;
  /**
   * What is known came from disk, where it was written then (in milliseconds since the epoch), and the API
   * server has not listed since; undefined: it came from the API server.
   */
  readonly restoredFrom: number | undefined;
  /** Lists and watches asked for since the start. */
  readonly lists: number;
  readonly watches: number;
}

export interface ReflectorOptions<Facts extends ObjectMeta> {
  readonly upstream: Upstream;
  readonly codec: Codec;
  readonly query: Query;
  /** Ask for PartialObjectMetadata: names and labels, no spec, no status. */
  readonly metadataOnly: boolean;
  /** Reads the facts of an object; throws `Malformed`. */
  readonly decode: (object: ObjectBytes) => Facts;
  /** Told of each change, in this order. */
  readonly sinks: readonly ChangeHandler<Facts>[];
  readonly clock: VersionAllocator;
  readonly logger: Logger;
  /**
   * Called when the API server refused (403) three times in a row, or was out of reach since the start of the
   * process with no snapshot to stand in (`Unreachable`); and with undefined once a watch is open.
   */
  readonly onRefused?: (error: WrapperError | undefined) => void;
  /**
   * Called before the first list is there, at each failure: with the error when the API server does not take the
   * question as it is, else with undefined; and with undefined when the list is there.
   */
  readonly onUnanswerable?: (error: WrapperError | undefined) => void;
  /**
   * A collection that does not exist (404) is an empty one, and looked for again every few seconds: that of a
   * custom resource may be defined later, or never.
   */
  readonly absentIsEmpty?: boolean;
  /** Where the last known state is kept over a restart; absent: nowhere. */
  readonly snapshots?: SnapshotStore;
  /** Default: {@link DEFAULT_READ_LIMITS}. */
  readonly bounds?: ReadLimits;
  /** Told what is about to be held; what it throws is a failure as any other. Default: nobody is told. */
  readonly memory?: ReadMemory | undefined;
  readonly random?: () => number;
  /** Told how long it took from the arrival of some events until all that follows from them was written, in seconds. */
  readonly onHandled?: ((seconds: number) => void) | undefined;
}

/** A refusal is taken for final after so many: an API server that starts answers 403 until its RBAC has loaded. */
const REFUSALS = 3;
/** A watch that lives this long went well, in milliseconds. */
const GOOD_WATCH_MS = 10_000;
/** A watch that ends sooner than this, with nothing said, is a failure, in milliseconds. */
const SHORT_WATCH_MS = 1_000;
/** How long until a collection that did not exist is looked for again, in milliseconds. */
const ABSENT_MS = 5_000;
/** After so many answers in a row that cannot be used … */
const MALFORMED = 5;
/** … the next is asked for after this long, in milliseconds: each may be a whole list. */
const BAD_DATA_MS = 60_000;
/** See {@link isUnanswerable}. */
const UNANSWERABLE: readonly number[] = [400, 404, 405, 406, 415, 422];
/** No Retry-After is obeyed beyond this, in milliseconds. */
const MAX_RETRY_AFTER_MS = 30_000;

/**
 * Lists a collection, then watches it, for ever, and tells its sinks what is different to what they know.
 *
 * Invariant: the sinks have heard of every change up to `#version`, and of nothing after it; a watch
 * continues from there, and when the API server cannot continue, a list says what was missed. A list never
 * asks for less than what is known already, but for the one case that the API server no longer has it.
 *
 * A watch that goes on where another was cut counts only once the API server says that it has reached that version
 * (see CollectionClient): else, after etcd was restored from a backup, what is known would stay, with no end, and
 * seem fresh. A watch that fell silent is for that reason none for a list: where etcd sends no notifications of
 * its progress, a collection that does not change has no bookmarks either.
 *
 * A snapshot on disk is such knowledge too: the first list asks for nothing older. Only when the API server is
 * out of reach are the sinks told what it holds, and then the first list says what is different to that. A
 * watch never continues from it: whether it is of the same history only a list can tell.
 */
export class Reflector<Facts extends ObjectMeta> {
  readonly #options: ReflectorOptions<Facts>;
  readonly #client: CollectionClient;
  readonly #tracker: DeltaTracker<Facts>;
  readonly #backoff;
  readonly #log: Logger;
  /** What the next list asks for: `0` for any state, a version for that or newer, empty for the newest. */
  #listVersion = '0';
  /** Version up to which everything has been told; undefined before the first list and after an expiry. */
  #version: string | undefined;
  /** Up to where the sinks have been told, whatever became of it since; empty: nothing yet. */
  #toldVersion = '';
  /** The API server has reached `#version`: it has just listed, or ended a watch in its time. */
  #isReached = false;
  #synced = false;
  #connected = false;
  #error: WrapperError | undefined;
  #failures = 0;
  #malformed = 0;
  /**
   * A watch brought what cannot be used, or ended at once, and nothing good has come since: that another one opens says
   * little.
   */
  #spoilt = false;
  #refusals = 0;
  #lists = 0;
  #watches = 0;
  #lastContact = 0;
  #heardAt = Number.NEGATIVE_INFINITY;
  /** When what is known was last up to date for certain; monotonic. */
  #currentAt = Number.NEGATIVE_INFINITY;
  #restoredFrom: number | undefined;
  readonly #memory: SnapshotRestore | undefined;

  constructor(options: ReflectorOptions<Facts>) {
    this.#options = options;
    const { codec, decode, snapshots: store, bounds = DEFAULT_READ_LIMITS } = options;
    this.#client = new CollectionClient({ ...options, bounds });
    this.#tracker = new DeltaTracker((object) => codec.meta(object), decode, bounds);
    this.#backoff = createBackoff(options.random === undefined ? {} : { random: options.random });
    this.#log = options.logger.child({ collection: queryPath(options.query) });
    if (store === undefined) return;
    this.#memory = new SnapshotRestore({
      ...options,
      store,
      logger: this.#log,
      restore: (stored) => this.#restore(stored),
      onNothing: (error) => options.onRefused?.(error),
    });
  }

  get status(): ReflectorStatus {
    return {
      synced: this.#synced,
      connected: this.#connected,
      error: this.#error,
      failures: this.#failures,
      lastContact: this.#lastContact,
      silentMs: performance.now() - this.#heardAt,
      staleMs: this.#connected ? 0 : performance.now() - this.#currentAt,
      restoredFrom: this.#restoredFrom,
      lists: this.#lists,
      watches: this.#watches,
    };
  }

  /** Runs until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    this.#listVersion = (await this.#memory?.load()) || '0';
    await this.#follow(signal);
    await this.#memory?.close();
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#version === undefined) await this.#list(signal);
        await this.#watch(signal);
        this.#disconnected();
      } catch (error) {
        if (signal.aborted) break;
        const failure = WrapperError.from(error, 'Unreachable');
        const absent = this.#options.absentIsEmpty === true && failure.status?.code === 404;
        const wait = absent ? this.#absent() : this.#failed(failure);
        await delay(wait, undefined, { signal }).catch(() => undefined);
        if (absent) this.#disconnected();
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    this.#lists++;
    this.#memory?.attempting();
    try {
      const { items, resourceVersion } = await this.#client.list(this.#listVersion, signal);
      this.#takeList(items, resourceVersion);
    } finally {
      this.#options.memory?.reading(0);
    }
  }

  #takeList(items: readonly ObjectBytes[], resourceVersion: string): void {
    // The newest is asked for when the API server does not have what is known.
    const wentBack = this.#listVersion === '' && isOlder(resourceVersion, this.#toldVersion);
    const changes = this.#tracker.replace(items, wentBack);
    this.#assertRoom(changes);
    this.#memory?.listed();
    this.#tell(changes, resourceVersion);
    this.#memory?.told(changes, resourceVersion);
    this.#toldUpTo(resourceVersion);
    this.#isReached = true;
    this.#heard();
    this.#current();
    this.#log.debug({ rv: resourceVersion, changes: changes.length }, 'listed');
    if (this.#restoredFrom === undefined) return;
    this.#restoredFrom = undefined;
    const said = 'the API server has listed: what the snapshot said is replaced';
    this.#log.info({ rv: resourceVersion, changes: changes.length }, said);
  }

  /** Throws `Malformed`, `TooLarge` or `LimitExceeded`, and then nothing has been told. */
  #restore({ objects, resourceVersion, savedAt }: StoredState): void {
    const changes = this.#tracker.replace(objects);
    this.#assertRoom(changes);
    // A process that has shown this version before may have gone on counting from it.
    this.#tell(changes, String(BigInt(resourceVersion) + 1n));
    this.#memory?.restored(changes, resourceVersion);
    this.#toldVersion = resourceVersion;
    this.#restoredFrom = savedAt;
  }

  /** Tells the sinks all that is different, and that it is all. */
  #tell(changes: readonly Change<Facts>[], resourceVersion: string): void {
    this.#options.clock.observe(resourceVersion);
    for (const sink of this.#options.sinks) {
      sink.onChanges(changes);
      sink.onSynced();
    }
    this.#tracker.commit(changes);
    if (!this.#synced) this.#options.onUnanswerable?.(undefined);
    this.#synced = true;
  }

  #assertRoom(changes: readonly Change<Facts>[]): void {
    this.#options.memory?.objects(this.#tracker.costWith(changes));
  }

  #heard(): void {
    this.#heardAt = performance.now();
    this.#lastContact = Date.now();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const started = performance.now();
    let heard = false;
    this.#watches++;
    const start = { version: this.#version ?? '', reached: this.#isReached };
    this.#isReached = false;
    this.#isReached = await this.#client.watch(start, signal, {
      opened: () => this.#opened(),
      events: (events) => {
        heard = true;
        this.#take(events);
      },
    });
    const lasted = performance.now() - started;
    if (lasted >= GOOD_WATCH_MS) this.#wentWell();
    if (!heard && lasted < SHORT_WATCH_MS) {
      this.#spoilt = true;
      throw new WrapperError('Unreachable', 'the API server ended the watch at once');
    }
  }

  /** Tells the sinks what events change; throws at one that cannot be used, after all before it is told. */
  #take(events: readonly RawEvent[]): void {
    const arrived = performance.now();
    this.#heard();
    const { changes, resourceVersion, error } = this.#tracker.apply(events);
    this.#assertRoom(changes);
    if (resourceVersion !== '') this.#options.clock.observe(resourceVersion);
    if (changes.length > 0) {
      for (const sink of this.#options.sinks) sink.onChanges(changes);
      this.#options.onHandled?.((performance.now() - arrived) / 1000);
    }
    this.#tracker.commit(changes);
    if (resourceVersion !== '') {
      this.#toldUpTo(resourceVersion);
      this.#memory?.told(changes, resourceVersion);
      this.#wentWell();
    }
    if (error !== undefined) throw error;
  }

  /** The sinks have heard of everything up to a version. */
  #toldUpTo(resourceVersion: string): void {
    this.#version = resourceVersion;
    this.#listVersion = resourceVersion;
    this.#toldVersion = resourceVersion;
  }

  #opened(): void {
    this.#connected = true;
    this.#heard();
    this.#refusals = 0;
    this.#options.onRefused?.(undefined);
    if (!this.#spoilt) this.#recovered();
  }

  #disconnected(): void {
    if (this.#connected) this.#current();
    this.#connected = false;
  }

  /** Up to now nothing was missed; but of one bad watch after the other only the first was of any use. */
  #current(): void {
    if (!this.#spoilt) this.#currentAt = performance.now();
  }

  #recovered(): void {
    if (this.#failures > 0) this.#log.info({ failures: this.#failures }, 'connected again');
    this.#failures = 0;
    this.#error = undefined;
    this.#spoilt = false;
  }

  /** The API server gets on: what fails from now on is a new failure. */
  #wentWell(): void {
    this.#backoff.reset();
    this.#malformed = 0;
    if (this.#spoilt) this.#recovered();
  }

  /** Nothing is there to be watched; returns how long to wait, in milliseconds. */
  #absent(): number {
    this.#opened();
    const changes = this.#tracker.replace([]);
    this.#memory?.listed();
    this.#tell(changes, '0');
    this.#memory?.told(changes, '0');
    this.#restoredFrom = undefined;
    this.#version = undefined;
    this.#listVersion = '';
    return ABSENT_MS;
  }

  /** Decides how to go on after a failure; returns how long to wait, in milliseconds. */
  #failed(error: WrapperError): number {
    if (this.#failures++ === 0 || causeOf(this.#error) !== causeOf(error)) {
      this.#log.warn({ err: error.message, code: error.code, offset: error.offset }, 'interrupted');
    }
    this.#error = error;
    const wasConnected = this.#connected;
    this.#disconnected();
    if (wasConnected && error.code !== 'Unreachable') this.#spoilt = true;
    this.#memory?.failed(error);
    if (!this.#synced) this.#options.onUnanswerable?.(isUnanswerable(error) ? error : undefined);
    if (isExpired(error)) this.#startOver();
    if (isTooLargeVersion(error)) this.#askForNewest();
    if (error.code === 'Malformed' || error.code === 'TooLarge') {
      // The same bytes may come again from the same version; a list shows whether the object itself is bad.
      if (++this.#malformed > 1) this.#version = undefined;
    }
    this.#refusals = error.status?.code === 403 ? this.#refusals + 1 : 0;
    if (this.#refusals === REFUSALS) this.#options.onRefused?.(error);
    if (this.#malformed > MALFORMED) return BAD_DATA_MS;
    const retryAfter = (error.status?.retryAfterSeconds ?? 0) * 1000;
    return Math.max(this.#backoff.next(), Math.min(retryAfter, MAX_RETRY_AFTER_MS));
  }

  /**
   * The version we hold cannot be continued from. A list at that version comes first, for with several API
   * servers a list at "any" may go back in time; when that fails too, only the newest state will do.
   */
  #startOver(): void {
    if (this.#version === undefined) this.#listVersion = '';
    this.#version = undefined;
  }

  /** The API server is behind the version we hold, and answers: it need not be waited for as after an outage. */
  #askForNewest(): void {
    this.#version = undefined;
    this.#listVersion = '';
    this.#backoff.reset();
  }
}

/**
 * The fault is in the question, or the API server does not know the collection: who asks again gets the same.
 * Not so 401 and 403, which rights mend, nor 408, 409, 410 and 429, which time does.
 */
function isUnanswerable({ code, status }: WrapperError): boolean {
  return code === 'Refused' && status !== undefined && UNANSWERABLE.includes(status.code);
}

/** HTTP 410, or an ERROR event that says so: the version has left the API server's window. */
function isExpired(error: WrapperError): boolean {
  return error.status?.code === 410;
}

/** Whether a version is older than another; what is no number cannot be compared, and is not. */
function isOlder(version: string, than: string): boolean {
  const [a, b] = [parseVersion(version), parseVersion(than)];
  return a !== undefined && b !== undefined && a < b;
}
