import type { Logger } from 'pino';
import type { WrapperError } from '../../errors.ts';
import { type Query, queryKey, queryPath } from '../api/query.ts';
import {
  type BudgetLimits,
  type CallerId,
  RETRY_AFTER_SECONDS,
  type Reservation,
  ViewBudget,
  type ViewBudgetOptions,
} from './view-budget.ts';
import { refusedSource, type SourceRole, type ViewSource } from './view-source.ts';

export interface OpenViewsOptions extends BudgetLimits, Pick<ViewBudgetOptions, 'shareOf'> {
  readonly openSource: (query: Query, role: SourceRole) => ViewSource;
  /** Whether kube-proxy makes this query: it always has room. */
  readonly isKubeProxys: (query: Query) => boolean;
  /** A view without users is closed after this long, in milliseconds. */
  readonly idleMs: number;
  readonly logger: Logger;
}

/**
 * Why a view remains open without users:
 * - `topology`: the topology needs it
 * - `kube-proxy`: a kube-proxy has read it last
 * - `default`: the newest kube-proxy would read it, and none has come yet
 */
export type PinnedBy = 'topology' | 'kube-proxy' | 'default';

/** An open view, with its users and its timer. */
export interface OpenView {
  /** A refused view keeps only its query and error; see {@link refusedSource}. */
  source: ViewSource;
  /** Its part of the budget; undefined for kube-proxy's own queries and for what the topology needs. */
  readonly reservation: Reservation | undefined;
  readonly pinnedBy: Set<PinnedBy>;
  users: number;
  /** The timer that closes the view while it has no users. */
  idleTimer: NodeJS.Timeout | undefined;
  /** Since when it has no users; monotonic, in milliseconds. */
  idleSince: number;
}

/**
 * A view makes room for another query when it had no users for this long, in milliseconds. Without this time a client
 * with ever new queries would cause a list and a snapshot for each of them, as fast as it sends them.
 */
const ROOM_MS = 5_000;
/**
 * A view without room is not tried again for this long, in milliseconds, because it has cost the API server a list.
 * Until then it keeps its place among maxViews, so that other queries are not tried without a pause either.
 */
const NO_ROOM_MS = RETRY_AFTER_SECONDS * 1_000;
/** A view whose query the API server rejects is closed this long after its last user, in milliseconds. */
const REFUSED_IDLE_MS = 1_000;

/**
 * The open views, one per query, with their users and their part of the budget.
 *
 *     opened ──▶ in use ── last user leaves ──▶ idle ── idleMs, or another view needs the room ──▶ closed
 *                 │  ▲                           │                                                 ▲
 *                 │  └──────── new user ─────────┘                                                 │
 *                 └── no room ──▶ refused (only query and error remain) ── 30 s later ─────────────┘
 *
 * A pinned view is not idle. But the API server may refuse a query that the topology does not need: then it is.
 */
export class OpenViews {
  readonly #options: OpenViewsOptions;
  readonly #open = new Map<string, OpenView>();
  /** See OpenViewsOptions. */
  readonly isKubeProxys: OpenViewsOptions['isKubeProxys'];
  /** Counts all views except kube-proxy's own and pinned ones. */
  readonly budget: ViewBudget;

  constructor(options: OpenViewsOptions) {
    this.#options = options;
    this.isKubeProxys = options.isKubeProxys;
    const { maxViews, maxViewBytes, shareOf } = options;
    this.budget = new ViewBudget({
      maxViews,
      maxViewBytes,
      shareOf,
      makeRoom: (caller, except) => this.#closeIdlest(caller, except),
    });
  }

  get sources(): readonly ViewSource[] {
    return [...this.#open.values()].map(({ source }) => source);
  }

  find(query: Query): OpenView | undefined {
    return this.#open.get(queryKey(query));
  }

  /**
   * The view of a query, which is opened for this caller if there is none. Throws `LimitExceeded` when there is no room
   * for another view. Kube-proxy's own queries always have room.
   */
  open(query: Query, caller: CallerId): OpenView {
    return this.find(query) ?? this.#openView(query, caller);
  }

  /** Opens a view that the topology needs. */
  openForTopology(query: Query, role: SourceRole): OpenView {
    const source = this.#options.openSource(query, role);
    return this.#add(source, undefined, 'topology');
  }

  /** From now on the view remains open without users. */
  pin(entry: OpenView, by: PinnedBy): void {
    entry.pinnedBy.add(by);
    if (!mayBeIdle(entry)) clearTimeout(entry.idleTimer);
  }

  /** Ends that. If nothing else keeps the view open, it is closed now, or after a while. */
  unpin(entry: OpenView, by: PinnedBy, when: 'now' | 'later'): void {
    entry.pinnedBy.delete(by);
    if (when === 'now' && this.isOpen(entry) && mayBeIdle(entry)) this.#close(entry);
    else this.#closeLaterIfIdle(entry);
  }

  isOpen(entry: OpenView): boolean {
    return this.find(entry.source.query) === entry;
  }

  /** A request begins to read a view. Throws `LimitExceeded` if the caller reads too many. */
  enter(entry: OpenView, caller: CallerId): void {
    if (entry.reservation !== undefined) this.budget.enter(entry.reservation, caller);
    entry.users++;
    if (entry.source.view.closed === undefined) clearTimeout(entry.idleTimer);
  }

  /** A request that has entered ends. */
  leave(entry: OpenView, caller: CallerId): void {
    entry.users--;
    entry.idleSince = performance.now();
    entry.reservation?.leave(caller);
    this.#closeLaterIfIdle(entry);
  }

  /** Ends all reflectors and waits for them. */
  async close(): Promise<void> {
    const entries = [...this.#open.values()];
    this.#open.clear();
    for (const { idleTimer, reservation } of entries) {
      clearTimeout(idleTimer);
      if (reservation !== undefined) this.budget.close(reservation);
    }
    await Promise.all(entries.map(({ source }) => source.close()));
  }

  /** Closes a view after a while if it has no users. */
  #closeLaterIfIdle(entry: OpenView): void {
    if (!mayBeIdle(entry) || !this.isOpen(entry)) return;
    const { idleMs } = this.#options;
    const refused = entry.source.view.refusal !== undefined;
    clearTimeout(entry.idleTimer);
    entry.idleSince = performance.now();
    entry.idleTimer = setTimeout(
      () => this.#close(entry),
      refused ? Math.min(REFUSED_IDLE_MS, idleMs) : idleMs,
    );
  }

  #openView(query: Query, caller: CallerId): OpenView {
    const { openSource } = this.#options;
    if (this.isKubeProxys(query)) return this.#add(openSource(query, {}));
    const reservation = this.budget.open(caller);
    const reserve = (bytes: number, isListing: boolean): void => {
      // A refused view costs nothing, also while its list still ends.
      if (entry.source.view.closed !== undefined) return;
      try {
        this.budget.resize(reservation, bytes);
      } catch (error) {
        // Only the list fails. What is served remains, and the reflector lists again.
        const canServe = isListing && entry.source.view.started;
        if (!canServe) this.#refuse(entry, error as WrapperError);
        throw error;
      }
    };
    const source = openSource(query, { reserve });
    const entry = this.#add(source, reservation);
    return entry;
  }

  /** Closes the view that has been idle for longest. Returns whether one was idle for long enough. */
  #closeIdlest(caller: CallerId | undefined, except: Reservation | undefined): boolean {
    let idlest: OpenView | undefined;
    for (const entry of this.#open.values()) {
      const { users, reservation, source, idleSince } = entry;
      if (reservation === undefined || reservation === except || users > 0) continue;
      if (source.view.closed !== undefined) continue;
      if (caller !== undefined && !reservation.countsFor(caller)) continue;
      if (idlest === undefined || idleSince < idlest.idleSince) idlest = entry;
    }
    if (idlest === undefined || performance.now() - idlest.idleSince < ROOM_MS) return false;
    this.#close(idlest);
    return true;
  }

  #close(entry: OpenView): void {
    const { source, idleTimer, reservation } = entry;
    clearTimeout(idleTimer);
    this.#open.delete(queryKey(source.query));
    if (reservation !== undefined) this.budget.close(reservation);
    void source.close();
  }

  /** Ends a view without room. Requests for it are answered with the error until it is closed. */
  #refuse(entry: OpenView, error: WrapperError): void {
    const { source, reservation } = entry;
    if (source.view.closed !== undefined) return;
    clearTimeout(entry.idleTimer);
    const path = queryPath(source.query);
    this.#options.logger.warn({ view: path, err: error.message }, 'a view is closed');
    const closing = source.close();
    source.view.close(error);
    if (reservation !== undefined) this.budget.resize(reservation, 0);
    entry.source = refusedSource(source, () => closing);
    entry.idleTimer = setTimeout(() => this.#close(entry), NO_ROOM_MS);
  }

  #add(source: ViewSource, reservation?: Reservation, ...pinnedBy: PinnedBy[]): OpenView {
    const entry: OpenView = {
      source,
      reservation,
      pinnedBy: new Set(pinnedBy),
      users: 0,
      idleTimer: undefined,
      idleSince: performance.now(),
    };
    this.#open.set(queryKey(source.query), entry);
    // When the query is rejected, its clients may have left already.
    source.view.whenSettled(() => this.#closeLaterIfIdle(entry));
    return entry;
  }
}

/** Whether a view is closed after a while, unless somebody reads it. A closed view has a timer of its own. */
function mayBeIdle({ users, pinnedBy, source: { view } }: OpenView): boolean {
  if (users > 0 || pinnedBy.has('topology') || view.closed !== undefined) return false;
  return pinnedBy.size === 0 || view.refusal !== undefined;
}
