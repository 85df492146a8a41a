import { type ErrorStatus, WrapperError } from '../../errors.ts';
import { least } from '../../util/extremes.ts';

export interface CallerLimitsOptions {
  /** What is limited, in the plural, for messages. */
  readonly what: string;
  /** Maximum number of concurrent requests of all callers, or of their bytes. */
  readonly maxRequests: number;
  /** The same for one caller. */
  readonly maxPerCaller: number;
  /** The same for one token of a caller; default: as for the caller. */
  readonly maxPerToken?: number;
  /** The same for one address that callers connect from; default: as for all. */
  readonly maxPerAddress?: number;
  /** Answer to one request more; default: 429, after which a client sends it again. */
  readonly refusal?: ErrorStatus;
}

/** For whom a request counts. */
export interface CountedCaller {
  /** Id of the user. */
  readonly user: string;
  /** Id of the token: each Pod of a user has its own. Absent: it is not known. */
  readonly token?: string;
  /** The IP address that the caller connects from. Absent: it is not known, or does not count. */
  readonly address?: string | undefined;
}

/** client-go sends the request again. */
export const TOO_MANY_REQUESTS = { code: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 };

/** A limit, and what each of those that it is for uses of it. */
interface Share {
  readonly whose: string;
  /** Undefined: it does not limit this caller. */
  readonly idOf: (caller: CountedCaller) => string | undefined;
  readonly max: number;
  readonly usage: Usage;
}

/** Limits concurrent requests, or their bytes: per token, per address, per caller and in total. */
export class CallerLimits {
  /** Number of requests refused since the start, by the limit that was reached. */
  readonly refused = { listener: 0, caller: 0 };
  readonly #options: CallerLimitsOptions;
  readonly #ofTokens = new Usage();
  readonly #ofAll = new Usage();
  /** A request that reaches several limits is refused because of the first. */
  readonly #shares: readonly Share[];
  #requests = 0;

  constructor(options: CallerLimitsOptions) {
    this.#options = options;
    const { maxRequests, maxPerCaller, maxPerToken = maxPerCaller } = options;
    const { maxPerAddress = maxRequests } = options;
    const share = (
      whose: string,
      idOf: Share['idOf'],
      max: number,
      usage = new Usage(),
    ): Share => ({ whose, idOf, max, usage });
    this.#shares = [
      share('this token', ({ token }) => token, maxPerToken, this.#ofTokens),
      share('this address', ({ address }) => address, maxPerAddress),
      share('this caller', ({ user }) => user, maxPerCaller),
      share('all callers', () => ALL, maxRequests, this.#ofAll),
    ];
  }

  /** Number of active requests, or of their bytes. */
  get active(): number {
    return this.#ofAll.used(ALL);
  }

  /** Number of active requests. */
  get requests(): number {
    return this.#requests;
  }

  /** Number of tokens that have active requests. */
  get tokens(): number {
    return this.#ofTokens.size;
  }

  /**
   * Counts a request until the returned function is called; further calls have no effect. Throws `LimitExceeded`
   * if a limit is reached.
   *
   * @param amount its bytes, of which no more count than one token may have: any request fits alone
   */
  enter(caller: CountedCaller, amount = 1): () => void {
    const counted = Math.min(amount, least(this.#shares.map(({ max }) => max)));
    const used = this.#shares.flatMap(({ idOf, ...share }) => {
      const id = idOf(caller);
      return id === undefined ? [] : [{ ...share, id }];
    });
    const full = used.find(({ id, max, usage }) => usage.used(id) + counted > max);
    if (full !== undefined) throw this.#refuse(full);
    const add = (change: number): void => {
      for (const { id, usage } of used) usage.add(id, change);
    };
    add(counted);
    this.#requests++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      add(-counted);
      this.#requests--;
    };
  }

  /** client-go waits for Retry-After and sends the request again, ten times at most (rest/with_retry.go). */
  #refuse({ whose, max, usage }: Pick<Share, 'whose' | 'max' | 'usage'>): WrapperError {
    if (usage === this.#ofAll) this.refused.listener++;
    else this.refused.caller++;
    const text = `${max} ${this.#options.what} of ${whose} are active already`;
    const { refusal: status = TOO_MANY_REQUESTS } = this.#options;
    return new WrapperError('LimitExceeded', text, { status });
  }
}

/** The id of all callers together. */
const ALL = '';

/** What ids use now. Only those that use something are in memory. */
class Usage {
  readonly #used = new Map<string, number>();

  get size(): number {
    return this.#used.size;
  }

  used(id: string): number {
    return this.#used.get(id) ?? 0;
  }

  add(id: string, change: number): void {
    const used = this.used(id) + change;
    if (used === 0) this.#used.delete(id);
    else this.#used.set(id, used);
  }
}
