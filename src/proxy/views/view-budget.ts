import { WrapperError } from '../../errors.ts';

/** Identifies who reads a view: an https caller, or {@link ANYONE}. */
export type CallerId = string;

/** All clients of plain http, which cannot be distinguished. */
export const ANYONE: CallerId = '';

/** Limits of all views together, except kube-proxy's own. */
export interface BudgetLimits {
  readonly maxViews: number;
  /** Estimated bytes of memory; see memoryCost. */
  readonly maxViewBytes: number;
}

/** The limit that a refused view would exceed. */
export type BudgetReason = 'views' | 'bytes' | 'caller_views';

export interface ViewBudgetOptions extends BudgetLimits {
  /** The share of maxViews that one caller may read, above 0 and at most 1; at least one view. */
  readonly shareOf: (caller: CallerId) => number;
  /** Closes a view that is not in use, of this caller or (undefined) of any; returns whether one was closed. */
  readonly makeRoom: (caller: CallerId | undefined, except: Reservation | undefined) => boolean;
}

/** How long a refusal is shown as a remark, in milliseconds. */
const REMARK_MS = 60_000;
/** Retry-After of a refused client, in seconds. */
export const RETRY_AFTER_SECONDS = 30;

/** The part of one view in the budget. It counts for each caller that reads it or, when idle, for the last one. */
export class Reservation {
  readonly #uses = new Map<CallerId, number>();
  #last: CallerId;
  bytes = 0;

  constructor(caller: CallerId) {
    this.#last = caller;
  }

  countsFor(caller: CallerId): boolean {
    return this.#uses.size === 0 ? caller === this.#last : this.#uses.has(caller);
  }

  /** A request of this caller begins to read the view. */
  enter(caller: CallerId): void {
    this.#uses.set(caller, (this.#uses.get(caller) ?? 0) + 1);
  }

  /** A request that has entered ends. */
  leave(caller: CallerId): void {
    const uses = (this.#uses.get(caller) ?? 0) - 1;
    if (uses > 0) this.#uses.set(caller, uses);
    else this.#uses.delete(caller);
    this.#last = caller;
  }
}

/**
 * Limits the views and their bytes in total, and the views of each caller.
 *
 * Invariant: none of these limits is ever exceeded.
 */
export class ViewBudget {
  readonly limits: BudgetLimits;
  /** Views refused or closed since the start. */
  readonly refusals: Record<BudgetReason, number> = {
    views: 0,
    bytes: 0,
    caller_views: 0,
  };
  readonly #options: ViewBudgetOptions;
  readonly #open = new Set<Reservation>();
  #refused: { readonly at: number; readonly message: string } | undefined;

  constructor(options: ViewBudgetOptions) {
    this.#options = options;
    this.limits = options;
  }

  get used(): { readonly views: number; readonly bytes: number } {
    let bytes = 0;
    for (const each of this.#open) bytes += each.bytes;
    return { views: this.#open.size, bytes };
  }

  /** The last refusal, for a minute; undefined: no recent refusal. */
  get remark(): string | undefined {
    const { at, message } = this.#refused ?? { at: Number.NEGATIVE_INFINITY, message: undefined };
    return performance.now() - at < REMARK_MS ? message : undefined;
  }

  /** Number of views that count for a caller. */
  viewsOf(caller: CallerId): number {
    let views = 0;
    for (const each of this.#open) if (each.countsFor(caller)) views++;
    return views;
  }

  /** Reserves one more view. Throws `LimitExceeded`. */
  open(caller: CallerId): Reservation {
    this.#reserveCallerView(caller);
    const { maxViews } = this.limits;
    const isFull = (): boolean => this.#open.size >= maxViews;
    if (!this.#makeRoom(isFull, undefined)) {
      const problem = `${this.#open.size} of ${maxViews} views are open (maxViews)`;
      throw this.#refusal('views', problem);
    }
    const reservation = new Reservation(caller);
    this.#open.add(reservation);
    return reservation;
  }

  /** A request of this caller begins to read a view. Throws `LimitExceeded`, and then nothing has changed. */
  enter(reservation: Reservation, caller: CallerId): void {
    if (!reservation.countsFor(caller)) this.#reserveCallerView(caller);
    reservation.enter(caller);
  }

  /** Sets the bytes of a view. Throws `LimitExceeded` if there is no room for more, and then nothing has changed. */
  resize(reservation: Reservation, bytes: number): void {
    // A closed view costs nothing, also while its list still ends.
    if (!this.#open.has(reservation)) return;
    const more = bytes - reservation.bytes;
    const { maxViewBytes } = this.limits;
    const isFull = (): boolean => more > 0 && this.used.bytes + more > maxViewBytes;
    if (!this.#makeRoom(isFull, undefined, reservation)) {
      const problem = `views hold ${mb(this.used.bytes)} of ${mb(maxViewBytes)}, and this one needs ${mb(more)} more (maxViewBytes)`;
      throw this.#refusal('bytes', problem);
    }
    reservation.bytes = bytes;
  }

  /** Returns everything that a view has reserved. */
  close(reservation: Reservation): void {
    this.#open.delete(reservation);
  }

  #reserveCallerView(caller: CallerId): void {
    const most = Math.max(1, Math.floor(this.limits.maxViews * this.#options.shareOf(caller)));
    const isFull = (): boolean => this.viewsOf(caller) >= most;
    if (this.#makeRoom(isFull, caller)) return;
    const problem = `this client reads ${this.viewsOf(caller)} of the ${most} views that one may read (maxViews)`;
    throw this.#refusal('caller_views', problem);
  }

  /** Closes idle views until there is room. Returns false if that is not enough. */
  #makeRoom(isFull: () => boolean, caller: CallerId | undefined, except?: Reservation): boolean {
    while (isFull()) {
      if (!this.#options.makeRoom(caller, except)) return false;
    }
    return true;
  }

  #refusal(reason: BudgetReason, problem: string): WrapperError {
    this.refusals[reason]++;
    const message = `no room for this view: ${problem}; the queries of kube-proxy itself always have room`;
    this.#refused = { at: performance.now(), message };
    const retryAfterSeconds = RETRY_AFTER_SECONDS;
    const status = { code: 503, reason: 'ServiceUnavailable', retryAfterSeconds };
    return new WrapperError('LimitExceeded', message, { status });
  }
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
