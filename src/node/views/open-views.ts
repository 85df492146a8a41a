import type { Logger } from 'pino';
import { type Query, queryKey, queryPath } from '../../client/api/query.ts';
import { WrapperError } from '../../errors.ts';
import {
  type BudgetLimits,
  RETRY_AFTER_SECONDS,
  ViewBudget,
  type ViewBudgetOptions,
} from './view-budget.ts';
import { type CallerId, type EntryLease, ViewEntry } from './view-entry.ts';
import type { ReserveBytes } from './view-memory.ts';
import { refusedSource, type SourceRole, type ViewSource } from './view-source.ts';

export interface OpenViewsOptions extends BudgetLimits, Pick<ViewBudgetOptions, 'shareOf'> {
  readonly openSource: (query: Query, role: SourceRole) => ViewSource;
  /** Whether kube-proxy makes this query: it always has room. */
  readonly isKubeProxys: (query: Query) => boolean;
  /** A view without leases is closed this long after its last request, in milliseconds. */
  readonly idleMs: number;
  readonly logger: Logger;
}

/**
 * A view without room is not tried again for this long, in milliseconds, because it has cost the API server a list.
 * Until then it keeps its place among maxViews, so that other queries are not tried without a pause either.
 */
const NO_ROOM_MS = RETRY_AFTER_SECONDS * 1_000;
/** A view whose query the API server rejects is closed this long after its last request, in milliseconds. */
const REFUSED_IDLE_MS = 1_000;

/**
 * The open views, one per query. A view is open because somebody holds a lease of it: a request, or this process.
 *
 *     opened ──▶ leased ── last lease ends ──▶ idle ── idleMs after the last request, ────────▶ closed
 *                 │  ▲                          │      or another view needs the room             ▲
 *                 │  └──────── new lease ───────┘                                                 │
 *                 └── no room ──▶ refused (only query and error remain) ── 30 s later ────────────┘
 *
 * The idle time is for clients that return: a view that no request has read is closed with its last lease.
 */
export class OpenViews {
  readonly #options: OpenViewsOptions;
  readonly #open = new Map<string, ViewEntry>();
  /** See OpenViewsOptions. */
  readonly isKubeProxys: OpenViewsOptions['isKubeProxys'];
  readonly budget: ViewBudget;

  constructor(options: OpenViewsOptions) {
    this.#options = options;
    this.isKubeProxys = options.isKubeProxys;
    this.budget = new ViewBudget({
      ...options,
      entries: () => this.#open.values(),
      close: (entry) => this.#close(entry),
    });
  }

  get sources(): readonly ViewSource[] {
    return [...this.#open.values()].map(({ source }) => source);
  }

  find(query: Query): ViewEntry | undefined {
    return this.#open.get(queryKey(query));
  }

  isOpen(entry: ViewEntry): boolean {
    return this.find(entry.source.query) === entry;
  }

  /**
   * Leases the view of a query to a request, and opens it if it is not open. Throws `LimitExceeded` when there is no
   * room. Kube-proxy's own queries always have room.
   */
  acquire(query: Query, caller: CallerId): EntryLease {
    const open = this.find(query);
    if (open?.isCounted) this.budget.assertMayRead(open, caller);
    return this.#lease(open ?? this.#openFor(query, caller), caller);
  }

  /**
   * Leases the view of a query to this process itself.
   *
   * @param role a view that is open has another one, so it is opened again, and its clients ask again
   */
  hold(query: Query, role?: SourceRole): EntryLease {
    const open = this.find(query);
    if (open !== undefined && role !== undefined) {
      this.#close(open);
      open.source.view.close(new WrapperError('NotReady', 'the view is opened again'));
    }
    return this.#lease(this.find(query) ?? this.#openUncounted(query, role ?? {}), undefined);
  }

  /** Ends all reflectors and waits for them. */
  async close(): Promise<void> {
    const entries = [...this.#open.values()];
    this.#open.clear();
    for (const { timer } of entries) clearTimeout(timer);
    await Promise.all(entries.map(({ source }) => source.close()));
  }

  #openFor(query: Query, caller: CallerId): ViewEntry {
    const { openSource } = this.#options;
    if (this.isKubeProxys(query)) return this.#openUncounted(query, {});
    this.budget.assertRoom(caller);
    const open = (entry: ViewEntry): ViewSource => {
      const reserve: ReserveBytes = (bytes, isListing) => this.#reserve(entry, bytes, isListing);
      return openSource(query, { reserve });
    };
    return this.#add(new ViewEntry(true, open));
  }

  #openUncounted(query: Query, role: SourceRole): ViewEntry {
    return this.#add(new ViewEntry(false, () => this.#options.openSource(query, role)));
  }

  #add(entry: ViewEntry): ViewEntry {
    const { query, view } = entry.source;
    this.#open.set(queryKey(query), entry);
    // When the query is rejected, its clients may have left already.
    view.whenSettled(() => this.#closeWithoutLeases(entry));
    return entry;
  }

  #lease(entry: ViewEntry, caller: CallerId | undefined): EntryLease {
    const { view } = entry.source;
    if (view.closed === undefined) clearTimeout(entry.timer);
    const lease = { entry, view, caller, release: () => this.#release(lease) };
    entry.leases.add(lease);
    return lease;
  }

  #release(lease: EntryLease): void {
    const { entry, caller } = lease;
    if (!entry.leases.delete(lease)) return;
    if (caller !== undefined) {
      entry.lastCaller = caller;
      entry.idleSince = performance.now();
    }
    this.#closeWithoutLeases(entry);
  }

  /** Closes a view that nobody holds, now or when it has been idle for long enough. */
  #closeWithoutLeases(entry: ViewEntry): void {
    const { source, lastCaller, idleSince } = entry;
    if (!entry.isIdle || !this.isOpen(entry)) return;
    clearTimeout(entry.timer);
    const { idleMs } = this.#options;
    const mostMs = source.view.refusal === undefined ? idleMs : Math.min(REFUSED_IDLE_MS, idleMs);
    const leftMs = idleSince + mostMs - performance.now();
    if (lastCaller === undefined || leftMs <= 0) this.#close(entry);
    else entry.timer = setTimeout(() => this.#close(entry), leftMs);
  }

  #close(entry: ViewEntry): void {
    clearTimeout(entry.timer);
    this.#open.delete(queryKey(entry.source.query));
    void entry.source.close();
  }

  #reserve(entry: ViewEntry, bytes: number, isListing: boolean): void {
    const { view } = entry.source;
    // A view that has ended costs nothing, also while its list still ends.
    if (view.closed !== undefined || !this.isOpen(entry)) return;
    try {
      this.budget.resize(entry, bytes);
    } catch (error) {
      // Only the list fails. What is served remains, and the reflector lists again.
      if (!isListing || !view.started) this.#refuse(entry, error as WrapperError);
      throw error;
    }
  }

  /** Ends a view without room, whoever holds it. Requests are answered with the error until it is closed. */
  #refuse(entry: ViewEntry, error: WrapperError): void {
    const { source } = entry;
    clearTimeout(entry.timer);
    const path = queryPath(source.query);
    this.#options.logger.warn({ view: path, err: error.message }, 'a view is closed');
    const closing = source.close();
    source.view.close(error);
    entry.bytes = 0;
    entry.source = refusedSource(source, () => closing);
    entry.timer = setTimeout(() => this.#close(entry), NO_ROOM_MS);
  }
}
