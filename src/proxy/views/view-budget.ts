import { WrapperError } from '../../errors.ts';

/** What all views but kube-proxy's own may take together. */
export interface BudgetLimits {
  readonly maxViews: number;
  /** Bytes of memory, as estimated; see filter/memory-cost.ts. */
  readonly maxViewBytes: number;
}

/** Who holds a view: a caller of https by its id, or {@link ANYONE}. */
export type Holder = string;

/** Every process that comes by plain http: they cannot be told apart. */
export const ANYONE: Holder = '';

/** Which limit a view was refused for. */
export type BudgetReason = 'views' | 'bytes' | 'caller_views' | 'caller_bytes';

interface Used {
  views: number;
  bytes: number;
}

export interface ViewBudgetOptions extends BudgetLimits {
  /** The part of both limits that one holder may have, above 0 and at most 1. At least one view. */
  readonly shareOf: (holder: Holder) => number;
  /** Closes a view that is not in use, of this holder or (undefined) of any; returns whether there was one. */
  readonly makeRoom: (holder: Holder | undefined, except: ViewCharge | undefined) => boolean;
}

/** How long a refusal is worth a remark, in milliseconds. */
const REMARK_MS = 60_000;
/** A client that is refused is told to come back after this long, in seconds. */
export const RETRY_AFTER_SECONDS = 30;

/**
 * Counts what views take, in number and bytes, in all and by holder.
 *
 * Invariants: neither limit is ever exceeded, in all or by one holder; each view is charged to one holder, who uses
 * it or was the last to use it; what is used is the sum of what the open charges hold.
 */
export class ViewBudget {
  readonly limits: BudgetLimits;
  /** Views refused or closed since the start. */
  readonly refusals: Record<BudgetReason, number> = {
    ...{ views: 0, bytes: 0 },
    ...{ caller_views: 0, caller_bytes: 0 },
  };
  readonly #options: ViewBudgetOptions;
  readonly #used: Used = { views: 0, bytes: 0 };
  readonly #byHolder = new Map<Holder, Used>();
  #refused: { readonly at: number; readonly message: string } | undefined;

  constructor(options: ViewBudgetOptions) {
    this.#options = options;
    this.limits = options;
  }

  get used(): Readonly<Used> {
    return this.#used;
  }

  /** Number of holders that are remembered: those that hold a view. */
  get holders(): number {
    return this.#byHolder.size;
  }

  /** The last refusal, while it is news; undefined: none was refused lately. */
  get remark(): string | undefined {
    const { at, message } = this.#refused ?? { at: Number.NEGATIVE_INFINITY, message: undefined };
    return performance.now() - at < REMARK_MS ? message : undefined;
  }

  /** What a holder has. */
  usedBy(holder: Holder): Readonly<Used> {
    return this.#byHolder.get(holder) ?? { views: 0, bytes: 0 };
  }

  /** Charges a holder with one more view. Throws `LimitExceeded`. */
  open(holder: Holder): ViewCharge {
    this.#claim(holder, { views: 1, bytes: 0 }, undefined);
    return new ViewCharge(
      {
        claim: (of, bytes, charge) => this.#claim(of, { views: 0, bytes }, charge),
        move: (from, to, bytes) => this.#move(from, to, bytes),
        handOver: (from, to, bytes) => {
          if (!this.#move(from, to, bytes)) {
            throw this.#refusal('caller_bytes', to, { views: 1, bytes });
          }
        },
        release: (of, bytes) => this.#add(of, { views: -1, bytes: -bytes }),
      },
      holder,
    );
  }

  /** The error for those who read a view that none of them has room for. */
  refuse({ holder, bytes }: ViewCharge): WrapperError {
    return this.#refusal('caller_bytes', holder, { views: 0, bytes });
  }

  /** Takes more, or (where negative) gives back. Throws `LimitExceeded`, and then nothing has changed. */
  #claim(holder: Holder, more: Readonly<Used>, charge: ViewCharge | undefined): void {
    for (;;) {
      const short = this.#shortOf(holder, more);
      if (short === undefined) break;
      const ofCaller = short === 'caller_views' || short === 'caller_bytes';
      if (!this.#options.makeRoom(ofCaller ? holder : undefined, charge)) {
        throw this.#refusal(short, holder, more);
      }
    }
    this.#add(holder, more);
  }

  /** Lets another holder have a view; returns false, and has done nothing, where its share does not allow it. */
  #move(from: Holder, to: Holder, bytes: number): boolean {
    const own = this.#shareOf(to);
    const used = this.usedBy(to);
    if (used.views + 1 > own.views || used.bytes + bytes > own.bytes) return false;
    this.#add(from, { views: -1, bytes: -bytes });
    this.#add(to, { views: 1, bytes });
    return true;
  }

  #shortOf(holder: Holder, { views, bytes }: Readonly<Used>): BudgetReason | undefined {
    const { maxViews, maxViewBytes } = this.limits;
    const [own, used] = [this.#shareOf(holder), this.usedBy(holder)];
    if (views > 0 && this.#used.views + views > maxViews) return 'views';
    if (views > 0 && used.views + views > own.views) return 'caller_views';
    if (bytes > 0 && this.#used.bytes + bytes > maxViewBytes) return 'bytes';
    if (bytes > 0 && used.bytes + bytes > own.bytes) return 'caller_bytes';
    return undefined;
  }

  #shareOf(holder: Holder): Readonly<Used> {
    const share = this.#options.shareOf(holder);
    const { maxViews, maxViewBytes } = this.limits;
    return { views: Math.max(1, Math.floor(maxViews * share)), bytes: maxViewBytes * share };
  }

  #add(holder: Holder, { views, bytes }: Readonly<Used>): void {
    const own = this.#byHolder.get(holder) ?? { views: 0, bytes: 0 };
    for (const each of [this.#used, own]) {
      each.views += views;
      each.bytes += bytes;
    }
    if (own.views > 0) this.#byHolder.set(holder, own);
    else this.#byHolder.delete(holder);
  }

  #refusal(reason: BudgetReason, holder: Holder, more: Readonly<Used>): WrapperError {
    this.refusals[reason]++;
    const { maxViews, maxViewBytes } = this.limits;
    const [own, used] = [this.#shareOf(holder), this.usedBy(holder)];
    const texts: Record<BudgetReason, string> = {
      views: `${this.#used.views} of ${maxViews} views are open (maxViews)`,
      caller_views: `this client has ${used.views} of the ${own.views} views that one may have (maxViews)`,
      bytes: `views hold ${mb(this.#used.bytes)} of ${mb(maxViewBytes)}, and this one needs ${mb(more.bytes)} more (maxViewBytes)`,
      caller_bytes: `this client's views hold ${mb(used.bytes)} of the ${mb(own.bytes)} that one may have, and this one needs ${mb(more.bytes)} more (maxViewBytes)`,
    };
    const message = `no room for this view: ${texts[reason]}; the queries of kube-proxy itself always have room`;
    this.#refused = { at: performance.now(), message };
    return new WrapperError('LimitExceeded', message, {
      status: {
        ...{ code: 503, reason: 'ServiceUnavailable', message: `kube-proxy-wrapper: ${message}` },
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      },
    });
  }
}

interface Ledger {
  claim(holder: Holder, bytes: number, charge: ViewCharge): void;
  move(from: Holder, to: Holder, bytes: number): boolean;
  /** Throws `LimitExceeded` where `move` returns false. */
  handOver(from: Holder, to: Holder, bytes: number): void;
  release(holder: Holder, bytes: number): void;
}

/** What one view takes of the budget, and who is charged with it. */
export class ViewCharge {
  readonly #ledger: Ledger;
  readonly #uses = new Map<Holder, number>();
  #holder: Holder;
  #bytes = 0;
  #open = true;

  constructor(ledger: Ledger, holder: Holder) {
    this.#ledger = ledger;
    this.#holder = holder;
  }

  get holder(): Holder {
    return this.#holder;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Sets what the view holds. Throws `LimitExceeded` where there is no room for more; then nothing has changed. */
  resize(bytes: number): void {
    if (!this.#open) return;
    this.#ledger.claim(this.#holder, bytes - this.#bytes, this);
    this.#bytes = bytes;
  }

  /**
   * A request of this caller begins to read the view. One that nobody read is charged to the caller from now on: throws
   * `LimitExceeded` where its share does not allow that, and then nothing has changed.
   */
  use(caller: Holder): void {
    const isIdle = this.#open && this.#uses.size === 0 && caller !== this.#holder;
    if (isIdle) {
      this.#ledger.handOver(this.#holder, caller, this.#bytes);
      this.#holder = caller;
    }
    this.#uses.set(caller, (this.#uses.get(caller) ?? 0) + 1);
  }

  /**
   * A request ends. When its caller was charged and others still read the view, one of them is from now on. Returns
   * false when none of these has room for it: the view is to be closed.
   */
  leave(caller: Holder): boolean {
    const uses = (this.#uses.get(caller) ?? 0) - 1;
    if (uses > 0) {
      this.#uses.set(caller, uses);
      return true;
    }
    this.#uses.delete(caller);
    if (!this.#open || caller !== this.#holder || this.#uses.size === 0) return true;
    for (const other of this.#uses.keys()) {
      if (!this.#ledger.move(this.#holder, other, this.#bytes)) continue;
      this.#holder = other;
      return true;
    }
    return false;
  }

  /** Gives all back. May be called again. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#ledger.release(this.#holder, this.#bytes);
    this.#bytes = 0;
  }
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
