import { WrapperError } from '../../errors.ts';
import { type Holder, ViewCharge } from './view-charge.ts';

export { ANYONE, type Holder, type ViewCharge } from './view-charge.ts';

/** Limits of all views together, except kube-proxy's own. */
export interface BudgetLimits {
  readonly maxViews: number;
  /** Estimated bytes of memory; see memoryCost. */
  readonly maxViewBytes: number;
}

/** The limit that a refused view would exceed. */
export type BudgetReason = 'views' | 'bytes' | 'caller_views' | 'caller_bytes';

interface Used {
  views: number;
  bytes: number;
}

export interface ViewBudgetOptions extends BudgetLimits {
  /** The share of both limits that one holder may have, above 0 and at most 1; at least one view. */
  readonly shareOf: (holder: Holder) => number;
  /** Closes a view that is not in use, of this holder or (undefined) of any; returns whether one was closed. */
  readonly makeRoom: (holder: Holder | undefined, except: ViewCharge | undefined) => boolean;
}

/** How long a refusal is shown as a remark, in milliseconds. */
const REMARK_MS = 60_000;
/** Retry-After of a refused client, in seconds. */
export const RETRY_AFTER_SECONDS = 30;

/**
 * Counts views and their bytes, in total and by holder.
 *
 * Invariants: neither limit is ever exceeded, in total or by one holder. Each view is charged to one holder, who uses
 * it or was the last to use it. The used amount is the sum of the open charges.
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

  /** Number of holders that have a view. */
  get holders(): number {
    return this.#byHolder.size;
  }

  /** The last refusal, for a minute; undefined: no recent refusal. */
  get remark(): string | undefined {
    const { at, message } = this.#refused ?? { at: Number.NEGATIVE_INFINITY, message: undefined };
    return performance.now() - at < REMARK_MS ? message : undefined;
  }

  /** Views and bytes of a holder. */
  usedBy(holder: Holder): Readonly<Used> {
    return this.#byHolder.get(holder) ?? { views: 0, bytes: 0 };
  }

  /** Charges a holder for one more view. Throws `LimitExceeded`. */
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

  /** The error for the readers of a view when none of them has room for it. */
  refuse({ holder, bytes }: ViewCharge): WrapperError {
    return this.#refusal('caller_bytes', holder, { views: 0, bytes });
  }

  /** Takes more, or returns some if negative. Throws `LimitExceeded`, and then nothing has changed. */
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

  /** Charges a view to another holder. Returns false and changes nothing if its share does not allow it. */
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

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
