import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { Encoding, ObjectBytes, ObjectMeta, RawEvent } from '../../filter/codec/codec.ts';
import { encodingOf } from '../../filter/codec/encoded-object.ts';
import type { Change } from '../../filter/objects/change.ts';
import { type Clock, systemClock } from '../../util/clock.ts';
import { LinkedAbortController } from '../../util/linked-abort-controller.ts';
import { waitFor } from '../../util/wait-for.ts';
import { queryPath } from '../api/query.ts';
import { REQUEST_ENDS, type RequestEnd } from '../api/request-end.ts';
import { endOf, otherEncoding, RequestError, tooLargeVersion } from '../api/request-error.ts';
import type { StoredState } from '../snapshot/snapshot-format.ts';
import { SnapshotRestore } from '../snapshot/snapshot-restore.ts';
import type { ServerState } from '../upstream/server-state.ts';
import { type AcceptedWatch, CollectionClient, type Listed } from './collection-client.ts';
import { assertHistory, olderState } from './older-state.ts';
import * as position from './position.ts';
import { type HealthStatus, ReflectorHealth } from './reflector-health.ts';
import type { ReflectorOptions } from './reflector-options.ts';
import { RelayLimit } from './relay-limit.ts';
import { RetryBackoff } from './retry-backoff.ts';
import { TrackedObjects } from './tracked-objects.ts';

/** State of a reflector, for readiness and metrics. */
export interface ReflectorStatus extends HealthStatus {
  /** The objects are complete: a list or a snapshot has arrived. They may be old. */
  readonly synced: boolean;
  /** The resourceVersion that the handler has been notified of; empty: none yet. */
  readonly version: string;
  /**
   * When the snapshot was written that the objects come from, in milliseconds since the epoch; undefined: they come
   * from the API server.
   */
  readonly restoredFrom: number | undefined;
  /** Size of the objects as a part of `maxListBytes`: above 1, a list of them is refused. */
  readonly listRatio: number;
  /** Lists and watches sent since the start. */
  readonly lists: number;
  readonly watches: number;
}

/** What the handler has: nothing, the state of a snapshot, or the state of the API server. */
type Contents =
  | { readonly from: 'nowhere' }
  | { readonly from: 'snapshot'; readonly savedAt: number }
  | { readonly from: 'server' };

/** A request under way. */
interface Attempt {
  /** When its last request was sent; monotonic. */
  since: number;
  /** It is a watch, and the API server has accepted it. */
  isOpen: boolean;
  /** It has brought a list or an event, or was open for {@link GOOD_WATCH_MS}. */
  isUseful: boolean;
  /** The watch, if the API server has accepted one. */
  watch?: AcceptedWatch;
  /** Ends it, to be sent again. */
  readonly interrupt: () => void;
  /** The server is a cache: cancels the end of this watch. */
  cancelEnd?: () => void;
}

/**
 * An API server sends what a watch has missed as soon as it accepts it. So the objects are up to date if it is open for
 * this long, in milliseconds, however often it ends.
 */
const PROVEN_WATCH_MS = 1_000;
/** A watch that is open for this long is a success, in milliseconds. */
const GOOD_WATCH_MS = 10_000;
/**
 * A watch at a cache ends after this, whatever the cache makes of its timeout: only the next list shows what was
 * deleted while the cache had lost the API server. In milliseconds, more than the longest timeout.
 */
const CACHE_WATCH_MS = 610_000;
/**
 * The same for the first watch, as the cache has missed what was deleted before it began to follow the API server, and
 * after a list that the cache has made from its own store, as while it has lost the API server.
 */
const STORE_WATCH_MS = 30_000;
/** Ends a request: the API server has another history, or the preferred one is used again. */
const interrupted = new RequestError('interrupted', 'the API server is another one now');
/** For how long the check of a watch is repeated, in milliseconds. */
const CHECK_MS = 90_000;
/**
 * An API server whose cache does not reach a version for this long may have lost etcd's events: the newest state is
 * listed. Most reach it before, with etcd's next progress notification; see CheckedState. In milliseconds.
 */
const LAG_MS = 900_000;
/** A watch that continues is checked with at most so many known objects. */
const CHECKED_OBJECTS = 3;
/** So many 403 in a row are final: an API server that starts answers 403 until its RBAC has loaded. */
const DENIALS = 3;
/** A request may be refused with these because of the version that it names. */
const REFUSES_VERSION: ReadonlySet<number | undefined> = new Set([400, 422]);

/**
 * The room reflector: keeps up with collections. It must not know what its handlers make of the objects.
 *
 * A reflector lists a collection, then watches it until it is stopped, and notifies its handler of every difference.
 *
 *     run ─▶ load snapshot ─▶ LIST ── arrived: notify handler ───▶ WATCH ─┐ events: notify handler
 *                            ▲ ▲ │                                ▲ │ ▲   │
 *                            │ │ │ failed                  ended, │ │ └───┘
 *                            │ │ ▼                      of use:   │ │ failed, or of no use
 *                            │ └─ WAIT ◀──────────────── again ───┘ ▼
 *                            │     │  by the table of REQUEST_ENDS:
 *                            │     ├─ the query's own failure: its own back-off
 *                            │     └─ the API server's: with all queries, until one of them is answered
 *                            └── 410, behind, unusable twice, or the history has changed: a list is next
 *     while there is no list at the start: notify the handler of the snapshot
 *
 * `Position` says what is sent next, `REQUEST_ENDS` and `RetryBackoff` how long to wait, `ReflectorHealth` how fresh
 * the objects are, and `ServerState` whether the API server answers any query. `QueryLimits` bounds the requests.
 *
 * Invariant: the handler has been notified of every change up to the version in the position, and of nothing
 * after it. A list never requests less than that version, unless the API server no longer has it.
 *
 * A watch that continues where another was cut counts as open only once the API server has reached the version, or
 * etcd has (see assertReached). Otherwise the objects would seem fresh for ever after etcd was restored from a backup.
 * While an overloaded API server refuses the check, only the check is repeated, and no event is read.
 * A silent watch does not lead to a list: where etcd sends no progress notifications, a collection without changes
 * has no bookmarks either.
 *
 * The first list requests nothing older than the snapshot. A watch never continues from a snapshot: only a list
 * shows whether both have the same history.
 */
export class Reflector<Facts extends ObjectMeta> {
  readonly #options: ReflectorOptions<Facts>;
  readonly #clock: Clock;
  readonly #server: ServerState;
  readonly #client: CollectionClient;
  readonly #objects: TrackedObjects<Facts>;
  readonly #log: Logger;
  readonly #snapshot: SnapshotRestore | undefined;
  readonly #health: ReflectorHealth;
  readonly #backoff: RetryBackoff;
  readonly #relayLimit: RelayLimit;
  #position = position.initialPosition('0');
  #contents: Contents = { from: 'nowhere' };
  /** A cache has made the last list from its own store. */
  #isFromStore = false;
  readonly #sent = { lists: 0, watches: 0 };
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;

  /** Runs until it is closed. */
  constructor(options: ReflectorOptions<Facts>) {
    this.#options = options;
    const { snapshots: folder, clock = systemClock, random = Math.random } = options;
    const collection = queryPath(options.query);
    this.#clock = clock;
    this.#server = options.upstream.serverState;
    this.#relayLimit = new RelayLimit(options.upstream, clock, options.forOthers);
    this.#client = new CollectionClient({ ...options, upstream: this.#relayLimit });
    this.#objects = new TrackedObjects(options);
    this.#log = options.logger.child({ collection });
    this.#health = new ReflectorHealth(this.#server.log, collection, clock);
    this.#backoff = new RetryBackoff(clock, random);
    if (folder !== undefined) {
      this.#snapshot = new SnapshotRestore({
        ...options,
        folder,
        logger: this.#log,
        restore: (stored) => this.#restore(stored),
        onNothing: (error) => options.onRefused?.(error),
      });
    }
    this.#running = this.#run(this.#closing.signal);
  }

  get status(): ReflectorStatus {
    const contents = this.#contents;
    return {
      ...this.#health.status,
      ...this.#sent,
      listRatio: this.#objects.bytes / this.#options.readLimits.maxListBytes,
      synced: contents.from !== 'nowhere',
      version: this.#position.notified,
      restoredFrom: contents.from === 'snapshot' ? contents.savedAt : undefined,
    };
  }

  /** Ends the reflector. Resolves when it has ended. */
  close(): Promise<void> {
    this.#closing.abort();
    return this.#running;
  }

  /** Never rejects. */
  async #run(signal: AbortSignal): Promise<void> {
    const stored = await this.#snapshot?.load();
    this.#position = position.initialPosition(stored?.resourceVersion ?? '0');
    while (!signal.aborted) {
      this.#health.closed();
      const turn = new LinkedAbortController(signal);
      const interrupt = () => turn.abort(interrupted);
      const attempt: Attempt = {
        since: this.#clock.now(),
        isOpen: false,
        isUseful: false,
        interrupt,
      };
      this.#relayLimit.begin(interrupt);
      try {
        await this.#send(attempt, turn.signal);
      } catch (error) {
        if (!signal.aborted) await this.#settle(error, attempt, turn.signal);
      } finally {
        turn.release();
      }
    }
    this.#relayLimit.end();
    this.#snapshot?.close();
  }

  /** Sends the next request and uses its answer. Ends it when the history changes; a watch also when it has to move. */
  async #send(attempt: Attempt, outer: AbortSignal): Promise<void> {
    const request = new LinkedAbortController(outer);
    const { current: history, returns } = this.#server.history;
    this.#position = position.inHistory(this.#position, history);
    const { next } = this.#position;
    const unsubscribe = this.#server.onChange(() => {
      const now = this.#server.history;
      const hasMoved = now.returns !== returns && next.verb === 'watch';
      if (now.current !== history || hasMoved) request.abort(interrupted);
    });
    try {
      if (next.verb === 'list') await this.#list(next.version, history, attempt, request.signal);
      else await this.#watch(next.reachedAt, attempt, request.signal);
    } finally {
      unsubscribe();
      request.release();
    }
  }

  async #list(
    version: string,
    history: number,
    attempt: Attempt,
    signal: AbortSignal,
  ): Promise<void> {
    this.#sent.lists++;
    this.#snapshot?.listStarted();
    try {
      const listed = await this.#client.list(version, signal);
      if (listed.reduced > 0) {
        const text =
          'the list is larger than maxListBytes: large objects keep only annotations of policies';
        this.#log.warn({ objects: listed.reduced }, text);
      }
      this.#applyList(listed, history);
      this.#relayLimit.served();
      attempt.isUseful = true;
    } finally {
      this.#options.memory?.reading(0);
    }
  }

  #applyList(listed: Listed, history: number): void {
    const { items, resourceVersion, encoding, address } = listed;
    const { history: before, next, notified } = this.#position;
    // Before the first list, the version of the snapshot was requested.
    const version = next.verb === 'list' && notified === '' ? next.version : notified;
    const known = { version, objects: this.#objects.known };
    const older = olderState(listed, known);
    // Only the newest state shows that the history is another one, and not the API server behind another server.
    const isNewest = next.verb === 'list' && next.version === '';
    if (older !== undefined) assertHistory(listed, older, isNewest);
    const { from } = this.#contents;
    const changes = this.#replace(
      items,
      resourceVersion,
      encoding,
      older !== undefined || before !== history,
    );
    if (older !== undefined && before === history) this.#server.history.reportWentBack(history);
    const current = older === undefined ? history : this.#server.history.current;
    this.#position = position.watchFrom(resourceVersion, current, address);
    this.#isFromStore = listed.selfLink !== '';
    this.#health.current();
    this.#backoff.reset();
    const fields = { rv: resourceVersion, changes: changes.length };
    this.#log.debug(fields, 'listed');
    if (from !== 'snapshot') return;
    this.#log.info(fields, 'the API server has listed: its state replaces the snapshot');
  }

  /** A collection that does not exist counts as empty. */
  #showNothing(): void {
    this.#replace([], '0', this.#objects.encoding);
    this.#watchOpened();
  }

  /** Uses the state of the API server. */
  #replace(
    items: readonly ObjectBytes[],
    resourceVersion: string,
    encoding: Encoding,
    otherHistory = false,
  ): readonly Change<Facts>[] {
    const changes = this.#objects.replace(items, resourceVersion, encoding, otherHistory);
    this.#onContents({ from: 'server' });
    this.#snapshot?.update(changes, resourceVersion);
    return changes;
  }

  /** Throws `Malformed`, `TooLarge` or `LimitExceeded` before the handler is notified; `Internal`, if it fails. */
  #restore({ objects, resourceVersion, savedAt }: StoredState): readonly Change<Facts>[] {
    // An earlier process that showed this version may have counted on from it.
    const [first] = objects;
    const encoding = first === undefined ? this.#objects.encoding : encodingOf(first);
    const from = String(BigInt(resourceVersion) + 1n);
    const changes = this.#objects.replace(objects, from, encoding);
    this.#position = position.restored(this.#position, resourceVersion);
    this.#onContents({ from: 'snapshot', savedAt });
    return changes;
  }

  /** The handler was notified of a complete state. */
  #onContents(contents: Contents): void {
    if (this.#contents.from === 'nowhere') this.#options.onUnanswerable?.(undefined);
    this.#contents = contents;
  }

  async #watch(
    reachedAt: string | undefined,
    attempt: Attempt,
    signal: AbortSignal,
  ): Promise<void> {
    this.#sent.watches++;
    const { notified: version } = this.#position;
    this.#position = position.reached(this.#position, undefined);
    let address = '';
    let end = (): void => {};
    try {
      const inTime = await this.#client.watch(version, signal, {
        accepted: async (watch) => {
          address = watch.address;
          if (watch.encoding !== this.#objects.encoding) throw otherEncoding(watch.encoding);
          if (reachedAt !== address) await this.#confirm(watch, attempt);
          end = this.#begin(watch, attempt);
        },
        events: (events) => this.#applyEvents(events, version, attempt),
      });
      this.#position = position.reached(this.#position, inTime ? address : undefined);
    } finally {
      end();
      // The next watch of a cache repeats everything and shows no deletion, so a list comes next.
      if (this.#server.isCache(address)) this.#position = position.relist(this.#position);
    }
    if (!attempt.isUseful) {
      const message = 'the API server ended the watch within 10 s, without an event';
      throw new WrapperError('Unreachable', message);
    }
  }

  /** The events of an accepted watch are read from now on. Returns what to call when it has ended. */
  #begin(watch: AcceptedWatch, attempt: Attempt): () => void {
    attempt.isOpen = true;
    attempt.watch = watch;
    this.#relayLimit.served();
    if (this.#server.isCache(watch.address)) this.#limitWatch(attempt);
    this.#watchOpened();
    const ends = [
      this.#server.watchOpened(),
      this.#clock.after(PROVEN_WATCH_MS, () => this.#health.proven()),
      this.#clock.after(GOOD_WATCH_MS, () => this.#progressed(attempt)),
    ];
    return () => {
      for (const end of ends) end();
      attempt.cancelEnd?.();
    };
  }

  /**
   * Makes sure that the API server that has accepted a watch has the version in its history: then the version can be
   * lost only if the watch ends. The check is repeated for a while if the API server refuses it only for the moment.
   */
  async #confirm({ address, signal, onProgress }: AcceptedWatch, attempt: Attempt): Promise<void> {
    const { upstream } = this.#options;
    const until = this.#clock.now() + CHECK_MS;
    for (;;) {
      const failure = await this.#checkHistory(signal);
      // Another API server proves nothing about the one that has accepted the watch.
      if (upstream.address !== address) throw failure ?? interrupted;
      if (failure === undefined) return;
      const end = endOf(failure);
      if (REQUEST_ENDS[end].check !== 'again' || this.#clock.now() >= until) throw failure;
      // The API server answers, so this is no silence.
      onProgress();
      await this.#failed(end, failure, attempt)(signal);
      if (upstream.address !== address) throw failure;
      attempt.since = this.#clock.now();
    }
  }

  /**
   * Requests the newest known objects from the API server's cache. If that lags behind the version, requests them from
   * etcd, then and at each further check of this version. Returns why the check has failed.
   */
  async #checkHistory(signal: AbortSignal): Promise<WrapperError | undefined> {
    const { notified: version, next } = this.#position;
    const known = { version, objects: this.#objects.newest(CHECKED_OBJECTS) };
    // A relay has no newest state. One that is behind refuses the version itself, and is left.
    const isRelay = this.#options.upstream.relaySince !== undefined;
    const lagsSince = next.verb === 'watch' && !isRelay ? next.lagsSince : undefined;
    const now = this.#clock.now();
    if (lagsSince !== undefined && now - lagsSince >= LAG_MS) {
      return tooLargeVersion(`the API server has not reached ${version} for 15 minutes`);
    }
    const state = lagsSince === undefined ? 'cached' : 'newest';
    try {
      await this.#client.assertReached(known, state, signal);
      return undefined;
    } catch (thrown) {
      const error = WrapperError.from(thrown, 'Unreachable');
      // At a relay an older object shows another history: a list is next, at which kube-proxy's queries leave it.
      if (state === 'newest' || isRelay || endOf(error) !== 'behind') return error;
      this.#position = position.lagging(this.#position, now);
      return this.#checkHistory(signal);
    }
  }

  /** A healthy cache may be silent, and its watch does not report what was deleted before. */
  #limitWatch(attempt: Attempt): void {
    attempt.watch?.allowSilence();
    const isEarly = this.#isFromStore || this.#sent.watches === 1;
    const lastsMs = isEarly ? STORE_WATCH_MS : CACHE_WATCH_MS;
    attempt.cancelEnd ??= this.#clock.after(lastsMs, attempt.interrupt);
  }

  #watchOpened(): void {
    this.#health.opened();
    this.#options.onRefused?.(undefined);
  }

  #progressed(attempt: Attempt): void {
    attempt.isUseful = true;
    this.#backoff.reset();
    this.#health.progressed();
  }

  /** Throws at an event that cannot be used, after the handler was notified of all events before it. */
  #applyEvents(events: readonly RawEvent[], from: string, attempt: Attempt): void {
    const { changes, resourceVersion, isReplay, error } = this.#objects.apply(events, from);
    if (isReplay && attempt.watch !== undefined) {
      this.#server.reportCache(attempt.watch.address);
      this.#limitWatch(attempt);
    }
    if (resourceVersion !== '') {
      this.#position = position.watchFrom(resourceVersion, this.#position.history);
      this.#health.current();
      // A bookmark does not count: a watch that ends after each one would be repeated without a pause.
      if (changes.length > 0) this.#progressed(attempt);
    }
    // A replay changes objects, but not the version.
    if (resourceVersion !== '' || changes.length > 0) {
      this.#snapshot?.update(changes, this.#position.notified);
    }
    if (error !== undefined) throw error;
  }

  /** The same as {@link #waitAfter}, and never rejects: the signal ends a wait too, and then the loop. */
  async #settle(thrown: unknown, attempt: Attempt, signal: AbortSignal): Promise<void> {
    try {
      await this.#waitAfter(thrown, attempt, signal);
    } catch (error) {
      // Else the handler has failed, of a collection that does not exist.
      if (!signal.aborted) await this.#waitAfter(error, attempt, signal).catch(() => undefined);
    }
  }

  /** Moves the position, and waits until the next request may be sent. Rejects with the reason of the signal. */
  async #waitAfter(thrown: unknown, attempt: Attempt, signal: AbortSignal): Promise<void> {
    const error = WrapperError.from(thrown, 'Unreachable');
    const end = this.#endOf(error, attempt);
    // Before anything is counted, because the handler may fail.
    if (end === 'absent') this.#showNothing();
    const untilNext = this.#failed(end, error, attempt);
    this.#move(end, error.status?.code);
    await untilNext(signal);
  }

  /**
   * Reports how a request failed, and leaves the position as it is. Returns a wait until the next request may be sent,
   * which rejects with the reason of its signal.
   */
  #failed(
    end: RequestEnd,
    error: WrapperError,
    attempt: Attempt,
  ): (signal: AbortSignal) => Promise<void> {
    this.#relayLimit.failed(end, error);
    const waitMs = this.#backoff.failed(end, error);
    let failsAll = false;
    if (end === 'interrupted') this.#health.closed();
    else if (end !== 'absent') failsAll = this.#reportFailure(end, error, attempt);
    if (failsAll) return (signal) => this.#server.untilAttempt(signal);
    return (signal) => waitFor(waitMs, this.#clock, signal);
  }

  /** If a collection seems absent, it is, while another query is watched. Else something may answer all of them. */
  #endOf(error: WrapperError, { isOpen }: Attempt): RequestEnd {
    const end = endOf(error);
    if (isOpen && end === 'unreachable') return 'cut';
    if (error.status?.code !== 404 || !this.#server.isWatched) return end;
    return this.#options.absentIsEmpty ? 'absent' : 'rejected';
  }

  /** Reports a failure to those who must know of it. Returns whether the API server fails all queries. */
  #reportFailure(end: RequestEnd, error: WrapperError, { since, isOpen }: Attempt): boolean {
    const { failuresInARow } = this.#backoff;
    const failsAll = this.#server.reportFailure(end, error, since);
    const { log } = REQUEST_ENDS[end];
    const isNews = log === 'first' || (log === 'second' && failuresInARow > 1);
    this.#health.failed(error, { suspect: isOpen && isNews, isLogged: isNews && !failsAll });
    this.#snapshot?.failed(error, end);
    if (this.#contents.from === 'nowhere') {
      this.#options.onUnanswerable?.(end === 'rejected' ? error : undefined);
    }
    if (end === 'forbidden' && failuresInARow === DENIALS) this.#options.onRefused?.(error);
    return failsAll;
  }

  /** Decides what is sent after a failure. */
  #move(end: RequestEnd, code: number | undefined): void {
    if (end === 'wentBack') this.#server.history.reportWentBack(this.#position.history);
    const { next } = REQUEST_ENDS[end];
    if (end === 'rejected' && REFUSES_VERSION.has(code)) {
      this.#position = position.refused(this.#position);
    }
    if (next === 'list') this.#position = position.expired(this.#position);
    else if (next === 'listKnown') this.#position = position.relist(this.#position);
    else if (next === 'listNewest') this.#position = position.listNewest(this.#position);
    else if (next === 'listAfterSecond' && this.#backoff.failuresInARow > 1) {
      this.#position = position.relist(this.#position);
    }
  }
}
