import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { LinkedAbortController } from '../../util/linked-abort-controller.ts';
import { Semaphore } from '../../util/semaphore.ts';
import { CallerLimits } from '../http/caller-limits.ts';
import type { ReadAttributes } from './access-policy.ts';
import type { IdentifiedCaller, Reviews, Verdict } from './access-review.ts';

export interface AccessReviewAuthorizerOptions {
  readonly reviews: Pick<Reviews, 'access' | 'identity'>;
  /** How long a positive decision is valid, in milliseconds. */
  readonly allowedMs: number;
  /** How long a negative decision is valid, in milliseconds. */
  readonly deniedMs: number;
  /** Maximum number of cached callers: this many that were authenticated, and this many that were not. */
  readonly maxCallers: number;
  /** Maximum number of concurrent reviews of one user, and of all callers that are not known yet. */
  readonly maxReviews: number;
  /** Maximum number of requests of unknown callers that wait for a review. */
  readonly maxWaiting: number;
  /** How long the API server may take to answer, in milliseconds; default 8,000. */
  readonly reviewMs?: number;
  /** A monotonic clock in milliseconds, never 0; default: `performance.now`. */
  readonly now?: () => number;
  readonly logger: Logger;
}

/** A caller that the API server has authenticated. */
interface KnownCaller {
  /** The id of its user. */
  readonly user: string;
  /** What it may read. Another token of the same user can have other rights. */
  readonly decisions: LRUCache<string, Decision, Read>;
}

type Decision = Exclude<Verdict, { readonly kind: 'unauthenticated' }>;

interface Read {
  readonly caller: IdentifiedCaller;
  readonly user: string;
  readonly attributes: ReadAttributes;
}

/** Cached decisions of one caller; kube-proxy needs about ten. */
const MAX_DECISIONS = 64;
/** The share of the cached callers that the tokens of one user may take. */
const USER_SHARE = 1 / 4;
const UNAUTHENTICATED = 'unauthenticated';
/** As CallerLimits answers: client-go sends the request again. */
const TOO_MANY = { code: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 };
/** A refresh that fails leaves the last answer in the cache. One that is evicted meanwhile still has a result. */
const KEEP_LAST = { noDeleteOnFetchRejection: true, ignoreFetchAbort: true };
/**
 * How long the API server may take to answer before it counts as unreachable, in milliseconds. It is longer than the
 * time to connect, because an error of the connection has more detail.
 */
const REVIEW_MS = 8_000;

/**
 * Finds out who callers are and what they may read, by reviews of the API server, and caches the answers. If the API
 * server is unreachable, the last answer about a caller remains valid. Without one, the caller gets `Unreachable`.
 *
 * The name of a caller is reviewed once, because a token never changes its owner. Quotas count by it. Rights are
 * reviewed for each token and read.
 *
 * Callers that were authenticated and all others have separate caches: invented tokens never evict a known caller. The
 * requests of callers that are not known yet wait for their turn, so invented tokens do not keep out a valid one.
 */
export class AccessReviewAuthorizer {
  readonly #options: AccessReviewAuthorizerOptions;
  /** Callers that the API server has authenticated, by {@link IdentifiedCaller.id}. */
  readonly #known: LRUCache<string, KnownCaller>;
  /** Callers whose identity is under review, or was a moment ago. */
  readonly #others: LRUCache<string, KnownCaller | typeof UNAUTHENTICATED, Pick<Read, 'caller'>>;
  /** The reviews of known callers, by user. */
  readonly #active: CallerLimits;
  /** The requests of unknown callers that are under review. */
  readonly #unknown: Semaphore;
  readonly #counts = { asked: 0, stale: 0 };

  constructor(options: AccessReviewAuthorizerOptions) {
    this.#options = options;
    const { maxCallers: max, maxReviews, deniedMs } = options;
    this.#known = new LRUCache({ ...this.#clock(), max, noDeleteOnStaleGet: true });
    this.#others = new LRUCache({
      ...this.#clock(),
      ...KEEP_LAST,
      max,
      ttl: deniedMs,
      fetchMethod: (_id, _last, { context: { caller } }) => this.#reviewIdentity(caller),
    });
    this.#unknown = new Semaphore(maxReviews);
    this.#active = new CallerLimits({
      what: 'access reviews',
      maxRequests: Number.POSITIVE_INFINITY,
      maxPerCaller: maxReviews,
    });
  }

  /** Since the start: reviews sent to the API server, and old decisions used because it was unreachable. */
  get counts(): { readonly asked: number; readonly stale: number } {
    return this.#counts;
  }

  /**
   * The id of the caller's user, for quotas; if the API server cannot name the user, that of the token. Rejects with
   * `Unauthorized`, `LimitExceeded` or `Unreachable` if the caller is not known and cannot be reviewed.
   *
   * @param gone aborts when the client disconnects: its request does not wait for a review any longer
   */
  async identify(caller: IdentifiedCaller, gone?: AbortSignal): Promise<string> {
    return (await this.#find(caller, gone)).user;
  }

  /** The same, if the caller may read this; rejects with `Forbidden` if not. */
  async authorize(
    caller: IdentifiedCaller,
    attributes: ReadAttributes,
    gone?: AbortSignal,
  ): Promise<string> {
    const { user, decisions } = await this.#find(caller, gone);
    const decision = await this.#decide(decisions, { caller, user, attributes });
    if (decision.kind === 'denied') throw forbidden(decision.reason, caller, attributes);
    return user;
  }

  async #find(caller: IdentifiedCaller, gone: AbortSignal | undefined): Promise<KnownCaller> {
    const { id } = caller;
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const isUnknown =
      caller.kind === 'token' && this.#lastKnown(id) === undefined && !this.#others.has(id);
    if (!isUnknown) return this.#findOther(caller);
    const endTurn = await this.#waitForTurn(gone);
    try {
      return await this.#findOther(caller);
    } finally {
      endTurn();
    }
  }

  /** Concurrent requests of one caller share a review. */
  async #findOther(caller: IdentifiedCaller): Promise<KnownCaller> {
    const { id } = caller;
    const found = await this.#others
      .forceFetch(id, { context: { caller } })
      .catch((error: unknown) => {
        const last = this.#lastKnown(id) ?? this.#others.peek(id, { allowStale: true });
        if (last === undefined) throw error;
        return last;
      });
    if (found === UNAUTHENTICATED) throw unauthenticated();
    return found;
  }

  /** Rejects with `LimitExceeded` after the time that a review may take. */
  async #waitForTurn(gone: AbortSignal | undefined): Promise<() => void> {
    const { maxReviews, maxWaiting, reviewMs = REVIEW_MS } = this.#options;
    const wait = new LinkedAbortController(gone);
    const timer = setTimeout(() => wait.abort(), reviewMs);
    if (this.#unknown.waiting >= maxWaiting) wait.abort();
    try {
      return await this.#unknown.acquire(wait.signal);
    } catch (cause) {
      const message = `${maxReviews} access reviews of unknown callers are active already`;
      throw new WrapperError('LimitExceeded', message, { cause, status: TOO_MANY });
    } finally {
      clearTimeout(timer);
      wait.release();
    }
  }

  async #reviewIdentity(caller: IdentifiedCaller): Promise<KnownCaller | typeof UNAUTHENTICATED> {
    const { id } = caller;
    if (caller.kind === 'certificate') return this.#remember(id, userId(caller.user));
    const lastUser = this.#lastKnown(id)?.user;
    const identity = await this.#review(lastUser, (signal) =>
      this.#options.reviews.identity(caller, signal),
    );
    if (identity.kind === 'unauthenticated') {
      this.#known.delete(id);
      return UNAUTHENTICATED;
    }
    if (identity.kind === 'user') return this.#remember(id, userId(identity.name));
    // It is asked again later: the API server may have been upgraded.
    return this.#remember(id, lastUser ?? id, this.#options.allowedMs);
  }

  /** Also one whose name is to be reviewed again. */
  #lastKnown(id: string): KnownCaller | undefined {
    return this.#known.peek(id, { allowStale: true });
  }

  /** @param ttl how long the caller has this user, in milliseconds; default: for ever */
  #remember(id: string, user: string, ttl = 0): KnownCaller {
    const decisions = this.#lastKnown(id)?.decisions ?? this.#createDecisions();
    const known = { user, decisions };
    const others = [...this.#known].filter(([other, each]) => other !== id && each.user === user);
    const most = Math.max(1, Math.floor(this.#options.maxCallers * USER_SHARE));
    for (const [leastUsed] of others.slice(most - 1)) this.#known.delete(leastUsed);
    this.#known.set(id, known, { ttl });
    return known;
  }

  #createDecisions(): KnownCaller['decisions'] {
    const { allowedMs, deniedMs } = this.#options;
    return new LRUCache({
      ...this.#clock(),
      ...KEEP_LAST,
      max: MAX_DECISIONS,
      fetchMethod: async (_key, _last, { context: read, options }) => {
        const decision = await this.#reviewAccess(read);
        options.ttl = decision.kind === 'allowed' ? allowedMs : deniedMs;
        return decision;
      },
    });
  }

  async #decide(decisions: KnownCaller['decisions'], read: Read): Promise<Decision> {
    const key = digest(read.attributes);
    try {
      return await decisions.forceFetch(key, { context: read });
    } catch (error) {
      const { code } = WrapperError.from(error, 'Unreachable');
      const last = decisions.peek(key, { allowStale: true });
      // A caller must not keep a right by our limits, or with a token that is not accepted any more. A 429 of the API
      // server counts as unreachable: in an overload kube-proxy must keep its views, whoever causes it.
      if (last === undefined || code === 'LimitExceeded' || code === 'Unauthorized') throw error;
      this.#counts.stale++;
      this.#options.logger.debug(
        { err: error, ...read.attributes },
        'the API server is unreachable; the last decision about a caller is used again',
      );
      return last;
    }
  }

  async #reviewAccess({ caller, user, attributes }: Read): Promise<Decision> {
    const verdict = await this.#review(user, (signal) =>
      this.#options.reviews.access(caller, attributes, signal),
    );
    if (verdict.kind !== 'unauthenticated') return verdict;
    this.#known.delete(caller.id);
    this.#others.set(caller.id, UNAUTHENTICATED);
    throw unauthenticated();
  }

  /** @param user undefined: an unknown caller, whose request has its turn */
  async #review<T>(
    user: string | undefined,
    review: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const leave = user === undefined ? undefined : this.#active.enter(user);
    const { reviewMs = REVIEW_MS } = this.#options;
    const signal = AbortSignal.timeout(reviewMs);
    this.#counts.asked++;
    try {
      return await review(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      const message = `the API server did not answer an access review within ${reviewMs} ms`;
      throw new WrapperError('Unreachable', message, { cause: error });
    } finally {
      leave?.();
    }
  }

  #clock() {
    const { now } = this.#options;
    return now === undefined ? {} : { perf: { now }, ttlResolution: 0 };
  }
}

/** A short key of a read: a selector can be as long as the request headers. */
function digest(attributes: ReadAttributes): string {
  return createHash('sha256').update(JSON.stringify(attributes)).digest('base64url');
}

/** A short id of a user, which is never that of a token. */
function userId(name: string): string {
  return `user ${createHash('sha256').update(name).digest('base64url')}`;
}

function unauthenticated(): WrapperError {
  return new WrapperError('Unauthorized', 'the API server does not accept the token');
}

function forbidden(
  reason: string,
  caller: IdentifiedCaller,
  { verb, resource, group, namespace }: ReadAttributes,
): WrapperError {
  const who =
    caller.kind === 'certificate' ? JSON.stringify(caller.user) : 'the owner of the token';
  const what = group === '' ? resource : `${resource}.${group}`;
  const where = namespace === '' ? '' : ` in namespace ${JSON.stringify(namespace)}`;
  const why = reason === '' ? '' : `: ${reason}`;
  return new WrapperError('Forbidden', `${who} may not ${verb} ${what}${where}${why}`);
}
