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

/** What the budget reads of a view. */
export interface BudgetedView {
  /** Estimated memory. */
  bytes: number;
  countsFor(caller: CallerId): boolean;
}

/** The limit that a refused view would exceed. */
export type BudgetReason = 'views' | 'bytes' | 'caller_views';

export interface ViewBudgetOptions extends BudgetLimits {
  /** The open views that count. */
  readonly views: () => readonly BudgetedView[];
  /** The share of maxViews that one caller may read, above 0 and at most 1; at least one view. */
  readonly shareOf: (caller: CallerId) => number;
  /** Closes a view that is not in use, of this caller or (undefined) of any; returns whether one was closed. */
  readonly makeRoom: (caller: CallerId | undefined, except: BudgetedView | undefined) => boolean;
}

/** How long a refusal is shown as a remark, in milliseconds. */
const REMARK_MS = 60_000;
/** Retry-After of a refused client, in seconds. */
export const RETRY_AFTER_SECONDS = 30;

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
  #refused: { readonly at: number; readonly message: string } | undefined;

  constructor(options: ViewBudgetOptions) {
    this.#options = options;
    this.limits = options;
  }

  get used(): { readonly views: number; readonly bytes: number } {
    const views = this.#options.views();
    return { views: views.length, bytes: views.reduce((sum, { bytes }) => sum + bytes, 0) };
  }

  /** The last refusal, for a minute; undefined: no recent refusal. */
  get remark(): string | undefined {
    const { at, message } = this.#refused ?? { at: Number.NEGATIVE_INFINITY, message: undefined };
    return performance.now() - at < REMARK_MS ? message : undefined;
  }

  /** Number of views that count for a caller. */
  viewsOf(caller: CallerId): number {
    return this.#options.views().filter((view) => view.countsFor(caller)).length;
  }

  /** Throws `LimitExceeded` if there is no room for one more view. */
  assertRoom(caller: CallerId): void {
    this.#assertShare(caller);
    const { maxViews } = this.limits;
    const isFull = (): boolean => this.used.views >= maxViews;
    if (this.#makeRoom(isFull, undefined)) return;
    throw this.#refusal('views', `${this.used.views} of ${maxViews} views are open (maxViews)`);
  }

  /** Throws `LimitExceeded` if this caller reads too many other views. */
  assertMayRead(view: BudgetedView, caller: CallerId): void {
    if (!view.countsFor(caller)) this.#assertShare(caller);
  }

  /** Sets the bytes of a view. Throws `LimitExceeded` if there is no room for more, and then nothing has changed. */
  resize(view: BudgetedView, bytes: number): void {
    const more = bytes - view.bytes;
    const { maxViewBytes } = this.limits;
    const isFull = (): boolean => more > 0 && this.used.bytes + more > maxViewBytes;
    if (!this.#makeRoom(isFull, undefined, view)) {
      const problem = `views hold ${mb(this.used.bytes)} of ${mb(maxViewBytes)}, and this one needs ${mb(more)} more (maxViewBytes)`;
      throw this.#refusal('bytes', problem);
    }
    view.bytes = bytes;
  }

  #assertShare(caller: CallerId): void {
    const most = Math.max(1, Math.floor(this.limits.maxViews * this.#options.shareOf(caller)));
    const isFull = (): boolean => this.viewsOf(caller) >= most;
    if (this.#makeRoom(isFull, caller)) return;
    const problem = `this client reads ${this.viewsOf(caller)} of the ${most} views that one may read (maxViews)`;
    throw this.#refusal('caller_views', problem);
  }

  /** Closes idle views until there is room. Returns false if that is not enough. */
  #makeRoom(isFull: () => boolean, caller: CallerId | undefined, except?: BudgetedView): boolean {
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
