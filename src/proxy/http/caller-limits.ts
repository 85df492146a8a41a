import { WrapperError } from '../../errors.ts';

export interface ForwardingLimitsOptions {
  /** Maximum number of concurrent requests, watches and switched protocols included. */
  readonly maxRequests: number;
  /** The same for one caller. */
  readonly maxPerCaller: number;
}

/** A kubectl has a few requests at a time, a busy controller 20. An API server takes 400 reads and 200 writes at a time. */
export const DEFAULT_FORWARDING_LIMITS: ForwardingLimitsOptions = {
  maxRequests: 128,
  maxPerCaller: 32,
};

/** Limits the concurrent requests that are forwarded, per caller and in total. */
export class ForwardingLimits {
  /** Number of requests refused since the start, by the limit that was reached. */
  readonly refused = { listener: 0, caller: 0 };
  readonly #options: ForwardingLimitsOptions;
  /** Number of requests by the id of the caller; only callers with a request are in it. */
  readonly #active = new Map<string, number>();
  #total = 0;

  constructor(options: ForwardingLimitsOptions) {
    this.#options = options;
  }

  /** Number of requests that are forwarded now. */
  get active(): number {
    return this.#total;
  }

  /**
   * Counts a request until the returned function is called; further calls have no effect. Throws `LimitExceeded` (429)
   * if a limit is reached.
   */
  enter(callerId: string): () => void {
    const { maxRequests, maxPerCaller } = this.#options;
    const active = this.#active.get(callerId) ?? 0;
    if (active >= maxPerCaller) {
      this.refused.caller++;
      throw tooMany(maxPerCaller, 'of this caller');
    }
    if (this.#total >= maxRequests) {
      this.refused.listener++;
      throw tooMany(maxRequests, 'of all callers');
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
function tooMany(max: number, whose: string): WrapperError {
  const text = `${max} requests ${whose} are already being forwarded`;
  const status = {
    ...{ code: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 },
    message: `kube-proxy-wrapper: ${text}`,
  };
  return new WrapperError('LimitExceeded', text, { status });
}
