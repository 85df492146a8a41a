import { WrapperError } from '../../errors.ts';

export interface ForwardingLimitsOptions {
  /** Requests that are forwarded at once, watches and switched protocols included (https.maxForwardedRequests). */
  readonly maxRequests: number;
  /** The same of one caller (https.maxForwardedRequestsPerCaller). */
  readonly maxPerCaller: number;
}

/** Used where nobody sets others. */
export const DEFAULT_FORWARDING_LIMITS: ForwardingLimitsOptions = {
  maxRequests: 128,
  maxPerCaller: 32,
};

/** Counts requests that are forwarded, of each caller and of all. */
export class ForwardingLimits {
  /** Requests refused because there were too many, since the start. */
  readonly refused = { listener: 0, caller: 0 };
  readonly #options: ForwardingLimitsOptions;
  /** By the id of the caller; no caller stays in it without a request. */
  readonly #active = new Map<string, number>();
  #total = 0;

  constructor(options: ForwardingLimitsOptions) {
    this.#options = options;
  }

  /** Requests that are forwarded now. */
  get active(): number {
    return this.#total;
  }

  /**
   * Counts a request until the function that is returned is called, which may be more than once. Throws
   * `LimitExceeded` (429) for one too many.
   */
  enter(callerId: string): () => void {
    const { maxRequests, maxPerCaller } = this.#options;
    const active = this.#active.get(callerId) ?? 0;
    if (active >= maxPerCaller) {
      this.refused.caller++;
      throw tooMany(maxPerCaller, 'of this caller', 'https.maxForwardedRequestsPerCaller');
    }
    if (this.#total >= maxRequests) {
      this.refused.listener++;
      throw tooMany(maxRequests, 'of all callers', 'https.maxForwardedRequests');
    }
    this.#add(callerId, 1);
    let isOver = false;
    return () => {
      if (!isOver) this.#add(callerId, -1);
      isOver = true;
    };
  }

  #add(callerId: string, change: 1 | -1): void {
    this.#total += change;
    const active = (this.#active.get(callerId) ?? 0) + change;
    if (active === 0) this.#active.delete(callerId);
    else this.#active.set(callerId, active);
  }
}

/** client-go waits for Retry-After and sends the request again, ten times at most (rest/with_retry.go). */
function tooMany(max: number, whose: string, setting: string): WrapperError {
  const text = `${max} requests ${whose} are being forwarded already (${setting})`;
  const status = {
    ...{ code: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 },
    message: `kube-proxy-wrapper: ${text}`,
  };
  return new WrapperError('LimitExceeded', text, { status });
}
