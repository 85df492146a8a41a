import { WrapperError } from '../../errors.ts';
import type { CallerId, ViewEntry } from './view-entry.ts';

/** Limits of all views together, except kube-proxy's own. */
export interface BudgetLimits {
  readonly maxViews: number;
  /** Estimated bytes of memory; see memoryCost. */
  readonly maxViewBytes: number;
}

/** The limit that a refused view would exceed. */
export type BudgetReason = 'views' | 'bytes' | 'caller_views' | 'caller_bytes';

export interface ViewBudgetOptions extends BudgetLimits {
  /**
   * The share of maxViews that one caller may read, above 0 and at most 1; at least one view. Of maxViewBytes it is at
   * least a half, because views differ in size.
   */
  readonly shareOf: (caller: CallerId) => number;
  /** The open views. */
  readonly entries: () => Iterable<ViewEntry>;
  /** Closes one of them to make room. */
  readonly close: (entry: ViewEntry) => void;
}

/**
 * A view makes room for another query when it had no request for this long, in milliseconds. Without this time a client
 * with ever new queries would cause a list and a snapshot for each of them, as fast as it sends them.
 */
const ROOM_MS = 5_000;
/** The share of maxViewBytes that one caller may take at least. */
const BYTES_SHARE = 1 / 2;
/** How long a refusal is shown as a remark, in milliseconds. */
const REMARK_MS = 60_000;
/** Retry-After of a refused client, in seconds. */
export const RETRY_AFTER_SECONDS = 30;

/**
 * Limits the views and their bytes, in total and of each caller. A view that several callers read counts for each. It
 * may grow if one of them has room.
 *
 * Invariant: none of these limits is exceeded when a view is opened, grows or gets another reader.
 */
export class ViewBudget {
  readonly limits: BudgetLimits;
  /** Views refused or closed since the start. */
  readonly refusals: Record<BudgetReason, number> = {
    views: 0,
    bytes: 0,
    caller_views: 0,
    caller_bytes: 0,
  };
  readonly #options: ViewBudgetOptions;
  #refused: { readonly at: number; readonly message: string } | undefined;

  constructor(options: ViewBudgetOptions) {
    this.#options = options;
    this.limits = options;
  }

  get used(): { readonly views: number; readonly bytes: number } {
    const views = this.#counted();
    return { views: views.length, bytes: views.reduce((sum, { bytes }) => sum + bytes, 0) };
  }

  /** The last refusal, for a minute; undefined: no recent refusal. */
  get remark(): string | undefined {
    const { at, message } = this.#refused ?? { at: Number.NEGATIVE_INFINITY, message: undefined };
    return performance.now() - at < REMARK_MS ? message : undefined;
  }

  /** Number of views that count for a caller. */
  viewsOf(caller: CallerId): number {
    return this.#counted().filter((entry) => entry.countsFor(caller)).length;
  }

  /** Throws `LimitExceeded` if there is no room for one more view. */
  assertRoom(caller: CallerId): void {
    this.#assertShare(caller);
    const { maxViews } = this.limits;
    const isFull = (): boolean => this.used.views >= maxViews;
    if (this.#makeRoom(isFull, () => true)) return;
    throw this.#refusal('views', `${this.used.views} of ${maxViews} views are open (maxViews)`);
  }

  /** Throws `LimitExceeded` if this caller reads too many other views. */
  assertMayRead(entry: ViewEntry, caller: CallerId): void {
    if (entry.countsFor(caller)) return;
    this.#assertShare(caller);
    this.#assertBytesShare([caller], entry, entry.bytes);
  }

  /** Sets the bytes of a view. Throws `LimitExceeded` if there is no room for more, and then nothing has changed. */
  resize(entry: ViewEntry, bytes: number): void {
    const more = bytes - entry.bytes;
    const { maxViewBytes } = this.limits;
    if (more > 0) this.#assertBytesShare(entry.callers, entry, more);
    const isFull = (): boolean => more > 0 && this.used.bytes + more > maxViewBytes;
    if (!this.#makeRoom(isFull, (other) => other !== entry)) {
      const why = `views hold ${mb(this.used.bytes)} of ${mb(maxViewBytes)}, and this one needs ${mb(more)} more (maxViewBytes)`;
      throw this.#refusal('bytes', why);
    }
    entry.bytes = bytes;
  }

  #assertShare(caller: CallerId): void {
    const most = Math.max(1, Math.floor(this.limits.maxViews * this.#options.shareOf(caller)));
    const isFull = (): boolean => this.viewsOf(caller) >= most;
    if (this.#makeRoom(isFull, (entry) => entry.countsFor(caller))) return;
    const why = `this client reads ${this.viewsOf(caller)} of the ${most} views that one may read (maxViews)`;
    throw this.#refusal('caller_views', why);
  }

  /** @param callers of whom one must have room; none: this process itself needs the view */
  #assertBytesShare(callers: readonly CallerId[], entry: ViewEntry, more: number): void {
    const { maxViewBytes } = this.limits;
    const shareOf = (caller: CallerId): number =>
      Math.max(BYTES_SHARE, this.#options.shareOf(caller));
    const hasRoom = (caller: CallerId): boolean => {
      const share = shareOf(caller);
      const max = share < 1 ? share * maxViewBytes : Number.POSITIVE_INFINITY;
      const isFull = (): boolean => this.#bytesOf(caller) + more > max;
      return this.#makeRoom(isFull, (other) => other !== entry && other.countsFor(caller));
    };
    if (callers.length === 0 || callers.some(hasRoom)) return;
    const used = callers
      .map((caller) => `${mb(this.#bytesOf(caller))} of ${mb(shareOf(caller) * maxViewBytes)}`)
      .join(' and ');
    const why = `views of this client hold ${used} that one client may have, and this one needs ${mb(more)} more (maxViewBytes)`;
    throw this.#refusal('caller_bytes', why);
  }

  #bytesOf(caller: CallerId): number {
    const own = this.#counted().filter((entry) => entry.countsFor(caller));
    return own.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  #counted(): ViewEntry[] {
    return [...this.#options.entries()].filter(({ isCounted }) => isCounted);
  }

  /** Closes idle views until there is room, the one that is idle longest first. Returns whether there is. */
  #makeRoom(isFull: () => boolean, mayClose: (entry: ViewEntry) => boolean): boolean {
    while (isFull()) {
      const idle = this.#counted().filter((entry) => entry.isIdle && mayClose(entry));
      const [idlest] = idle.sort((a, b) => a.idleSince - b.idleSince);
      if (idlest === undefined || performance.now() - idlest.idleSince < ROOM_MS) return false;
      this.#options.close(idlest);
    }
    return true;
  }

  #refusal(reason: BudgetReason, why: string): WrapperError {
    this.refusals[reason]++;
    const message = `no room for this view: ${why}; the queries of kube-proxy itself always have room`;
    this.#refused = { at: performance.now(), message };
    const retryAfterSeconds = RETRY_AFTER_SECONDS;
    const status = { code: 503, reason: 'ServiceUnavailable', retryAfterSeconds };
    return new WrapperError('LimitExceeded', message, { status });
  }
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
