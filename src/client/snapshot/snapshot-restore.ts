import type { Logger } from 'pino';
import { bugText, WrapperError } from '../../errors.ts';
import type { Change } from '../../filter/objects/change.ts';
import { type Query, queryKey } from '../api/query.ts';
import { REQUEST_ENDS, type RequestEnd } from '../api/request-end.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { QueryState } from './query-state.ts';
import type { SnapshotFolder } from './snapshot-folder.ts';
import type { StoredState } from './snapshot-format.ts';

export interface SnapshotRestoreOptions {
  readonly folder: SnapshotFolder;
  readonly query: Query;
  readonly upstream: Pick<
    Upstream,
    'address' | 'inUseSince' | 'serverState' | 'leaveServer' | 'waitsForRelays' | 'reportNoSnapshot'
  >;
  readonly logger: Logger;
  /**
   * Shows a snapshot; returns its objects as changes. Throws `Malformed`, `TooLarge` or `LimitExceeded`, and then shows
   * nothing of it; or `Internal`.
   */
  readonly restore: (stored: StoredState) => readonly Change[];
  /** Whether the node needs nothing of it. Then relays of a site that boots are waited for without a snapshot, too. */
  readonly forOthers?: boolean | undefined;
  /** Called when no snapshot can be used and the API server has not answered since the start. */
  readonly onNothing?: (error: WrapperError) => void;
}

/** How long a server may send nothing after it has accepted a connection, in milliseconds. */
const SILENCE_MS = 10_000;
/** The grace time when another query has found the API server unreachable, in milliseconds. */
const KNOWN_UNREACHABLE_MS = 200;
const BUG = bugText('the snapshot on disk is not used as a whole');

/**
 * The snapshot of one reflector: written as the API server reports changes, and shown when the API server is
 * unreachable at the start, or its first list is larger than a limit. That happens at most once, and only before the
 * first list.
 *
 *     waiting ── the list has arrived, or is not needed ──▶ over ◀── the list has arrived ──┐
 *        │ │ └── the list exceeds a limit ─────────────────────────────────────────────▶ used
 *        │ └──── no contact in time, no other server ──────────────────────────────────▶ used
 *        └────── no contact in time: another server, which has its own time
 *
 * The time of a server begins with the first attempt to list from it, or when the server before it is given up. It
 * begins again after each answer that is not a list:
 *
 *     while                            it ends
 *     an attempt has no connection     after the grace time
 *     a connection or a list is open   after the silence since the last part of a response; after the grace time if
 *                                      there is another server
 *     the next attempt is waited for   after the grace time, if the last one was an outage
 *
 * While relays of a site that boots are waited for, the snapshot is shown after the grace time, and no server is left.
 *
 * Invariant: while the server that is asked answers, nothing from disk is shown. A list in progress is an answer,
 * however slow the link. A refusal with a Status (401, 403, …) is an answer: the snapshot does not show what the API
 * server denies. A 504 because the API server is behind our version is an answer. A list that exceeds a limit is not,
 * because waiting does not help, and no other server has less.
 */
export class SnapshotRestore {
  readonly #options: SnapshotRestoreOptions;
  readonly #state: QueryState;
  #phase: 'waiting' | 'used' | 'over' = 'waiting';
  /** False: the disk has none. */
  #mayBeOnDisk = false;
  /** The last attempt to list from the server in use; none: there was no attempt, or it was answered. */
  #attempt: 'none' | 'sent' | 'outage' = 'none';
  /** Which server the attempt went to. */
  #asked = '';
  /** When the time of that server began; monotonic. */
  #since = 0;
  #timer: NodeJS.Timeout | undefined;
  #error: WrapperError | undefined;

  constructor(options: SnapshotRestoreOptions) {
    const { folder, query } = options;
    this.#options = options;
    this.#state = folder.writer.open(queryKey(query));
  }

  /** Reads the snapshot; undefined: there is none. The first list must not be older. */
  async load(): Promise<StoredState | undefined> {
    const { folder } = this.#options;
    const stored = await folder.load(this.#state);
    this.#mayBeOnDisk = stored !== undefined || !folder.wasRead(this.#state);
    if (!this.#mayBeOnDisk) this.#reportNone();
    return stored;
  }

  /** A request for the first list is sent. */
  listStarted(): void {
    if (this.#attempt === 'none') this.#since = performance.now();
    this.#attempt = 'sent';
    this.#asked = this.#options.upstream.address;
    this.#check();
  }

  /** The request failed. */
  failed(error: WrapperError, end: RequestEnd): void {
    this.#error = error;
    const { snapshot } = REQUEST_ENDS[end];
    if (snapshot === 'at once') this.#useDisk();
    // Otherwise a server has failed that is no longer in use.
    else if (this.#attempt === 'sent') this.#attempt = snapshot === 'outage' ? 'outage' : 'none';
    this.#check();
  }

  /**
   * Writes changes that the API server reported, up to a version. From its first list on, the snapshot is only written.
   */
  update(changes: readonly Change[], resourceVersion: string): void {
    this.#end();
    this.#state.update(changes, resourceVersion);
  }

  close(): void {
    this.#end();
    this.#options.folder.writer.closeState(this.#state);
  }

  /** Acts when the time of the server has ended, else waits for its end. */
  #check(): void {
    clearTimeout(this.#timer);
    if (this.#phase !== 'waiting' || this.#attempt === 'none') return;
    const now = performance.now();
    const { leaveAt, giveUpAt } = this.#timeOfServer(now);
    if (now < leaveAt) this.#checkIn(leaveAt - now);
    else if (this.#options.upstream.leaveServer(this.#since)) this.#onNextServer(now);
    else this.#onLastServer(giveUpAt - now);
  }

  #onNextServer(now: number): void {
    // A failure may have changed the server before, and the attempt be at that one already.
    const isAtThisServer = this.#asked === this.#options.upstream.address;
    if (this.#attempt !== 'sent' || !isAtThisServer) this.#attempt = 'none';
    this.#since = now;
    this.#check();
  }

  /** @param leftMs until the server is given up, for which there is no other one */
  #onLastServer(leftMs: number): void {
    const { upstream, folder } = this.#options;
    // A relay that boots may keep the request until it has a list, and the API servers follow soon.
    const bootMs = this.#mayBeOnDisk ? 0 : folder.graceMs;
    const waitMs = upstream.waitsForRelays ? bootMs : leftMs;
    if (waitMs > 0) {
      this.#checkIn(waitMs);
      return;
    }
    upstream.serverState.giveUp();
    this.#useDisk();
  }

  /** When the time of the server ends, as in the table above: if there is another server, and if there is none. */
  #timeOfServer(now: number): { readonly leaveAt: number; readonly giveUpAt: number } {
    const { folder, upstream } = this.#options;
    const { lastContactAt, isGivenUp, condition } = upstream.serverState;
    // The connection may be older than the attempt, and quiet while the API server answers others. One to the server
    // before, such as a relay that has lost the API server, says nothing about this one.
    const isContact = lastContactAt >= upstream.inUseSince && now - lastContactAt < SILENCE_MS;
    const hasConnection = isContact || condition.name === 'reachable';
    if (this.#attempt === 'sent' && hasConnection) {
      const from = Math.max(this.#since, lastContactAt);
      return { leaveAt: from + folder.graceMs, giveUpAt: from + SILENCE_MS };
    }
    // If other queries have waited already, this one only makes an attempt.
    const end = this.#since + (isGivenUp ? KNOWN_UNREACHABLE_MS : folder.graceMs);
    return { leaveAt: end, giveUpAt: end };
  }

  #checkIn(ms: number): void {
    this.#timer = setTimeout(() => this.#check(), ms);
  }

  #useDisk(): void {
    if (this.#phase !== 'waiting') return;
    this.#phase = 'used';
    void this.#showNewest();
  }

  /** The snapshot is not needed, or no longer. */
  #end(): void {
    this.#phase = 'over';
    clearTimeout(this.#timer);
  }

  /**
   * Shows the file, which is read again: the process that this one replaces may have written a newer state since this
   * one started. A disk that is slow, as while a whole site boots, is waited for: without the nodes of a set, another
   * endpoint would be selected, and no relay found.
   */
  async #showNewest(): Promise<void> {
    const { folder, logger, onNothing, upstream } = this.#options;
    const onSlow = (): void => {
      const next = 'the snapshot is shown when it is read; check the disk of stateDir';
      if (this.#phase === 'used') logger.warn(`${this.#problem}, and the disk is slow: ${next}`);
    };
    const stored = await folder.loadNewest(this.#state, onSlow);
    if (this.#phase === 'over' || (stored !== undefined && this.#show(stored))) return;
    this.#reportNone();
    logger.warn(`${this.#problem}, and there is no snapshot to use`);
    const why = this.#error?.message ?? 'the API server is unreachable';
    const error = new WrapperError('Unreachable', `${why}, and there is no snapshot`);
    if (!upstream.serverState.answered) onNothing?.(error);
  }

  #reportNone(): void {
    const { forOthers, upstream } = this.#options;
    if (forOthers !== true) upstream.reportNoSnapshot();
  }

  get #problem(): string {
    if (this.#error?.code === 'TooLarge') return 'the first list is larger than a limit';
    return this.#options.upstream.waitsForRelays
      ? 'no relay of this site has answered yet'
      : 'the API server is unreachable';
  }

  /** Returns whether the snapshot is shown now. */
  #show(stored: StoredState): boolean {
    const { folder, logger, restore } = this.#options;
    const { savedAt, resourceVersion: rv, objects } = stored;
    try {
      this.#state.adopt(restore(stored), stored);
    } catch (thrown) {
      const error = WrapperError.from(thrown, 'Malformed');
      const { code, message: err, cause } = error;
      if (code === 'Malformed') void folder.setAside(this.#state.query, error);
      else if (code === 'Internal') logger.error({ err: cause }, BUG);
      // The file itself is valid when it exceeds a limit, and the limit can be raised.
      else logger.error({ err }, 'the snapshot on disk is larger than a limit: it is not used');
      return false;
    }
    logger.warn(
      { saved: new Date(savedAt).toISOString(), rv, objects: objects.length },
      `${this.#problem}: the snapshot on disk is used`,
    );
    return true;
  }
}
