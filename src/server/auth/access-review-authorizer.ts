import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { LinkedAbortController } from '../../util/linked-abort-controller.ts';
import { Semaphore } from '../../util/semaphore.ts';
import { SingleFlight } from '../../util/single-flight.ts';
import { CallerLimits, TOO_MANY_REQUESTS } from '../http/caller-limits.ts';
import type { ReadAttributes, TokenCaller } from './access-policy.ts';
import { type Reviews, unauthenticated, type Verdict } from './access-review.ts';
import { type CachedCaller, CallerCache, type KnownCaller } from './caller-cache.ts';

export interface AccessReviewAuthorizerOptions {
  readonly reviews: Pick<Reviews, 'access' | 'user'>;
  /** How long a positive decision is valid, in milliseconds. */
  readonly allowedMs: number;
  /** How long a negative decision is valid, in milliseconds. */
  readonly deniedMs: number;
  /** Maximum number of cached callers that were authenticated. */
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

/** A token never changes its owner. */
const FOREVER = 0;
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
 * The requests of callers that are not known yet wait for their turn, so invented tokens do not keep out a valid one.
 */
export class AccessReviewAuthorizer {
  readonly #options: AccessReviewAuthorizerOptions;
  readonly #callers: CallerCache;
  /** Concurrent requests share a review. */
  readonly #identities = new SingleFlight<CachedCaller>();
  readonly #decisions = new SingleFlight<Verdict>();
  /** The reviews of known callers, by user. */
  readonly #active: CallerLimits;
  /** The requests of unknown callers that are under review. */
  readonly #unknown: Semaphore;
  readonly #counts = { asked: 0, stale: 0 };

  constructor(options: AccessReviewAuthorizerOptions) {
    this.#options = options;
    const { maxCallers, maxReviews, now = () => performance.now() } = options;
    this.#callers = new CallerCache(maxCallers, now);
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
   * The id of the caller's user, for quotas; if the API server cannot name the user, the id of the token. Rejects with
   * `Unauthorized`, `LimitExceeded` or `Unreachable` if the caller is not known and cannot be reviewed.
   *
   * @param gone aborts when the client disconnects: its request does not wait for a review any longer
   */
  async identify(caller: TokenCaller, gone?: AbortSignal): Promise<string> {
    return (await this.#find(caller, gone)).user;
  }

  /** The same, if the caller may read this; rejects with `Forbidden` if not. */
  async authorize(
    caller: TokenCaller,
    attributes: ReadAttributes,
    gone?: AbortSignal,
  ): Promise<string> {
    const known = await this.#find(caller, gone);
    const decision = await this.#decide(caller, known, attributes);
    if (decision.kind === 'denied') throw forbidden(decision.reason, attributes);
    return known.user;
  }

  async #find(caller: TokenCaller, gone: AbortSignal | undefined): Promise<KnownCaller> {
    const found = this.#callers.fresh(caller.id) ?? (await this.#identify(caller, gone));
    if (found.user === undefined) throw unauthenticated();
    return found;
  }

  /** Without an answer of the API server, the last one counts. If the token is not accepted, that is the answer. */
  async #identify(caller: TokenCaller, gone: AbortSignal | undefined): Promise<CachedCaller> {
    const { id } = caller;
    const isUnknown = this.#callers.last(id)?.user === undefined;
    const endTurn = isUnknown ? await this.#waitForTurn(gone) : undefined;
    try {
      const found = this.#callers.fresh(id);
      return found ?? (await this.#identities.run(() => this.#reviewUser(caller), id));
    } catch (error) {
      const last = this.#callers.last(id);
      if (last === undefined) throw error;
      return last;
    } finally {
      endTurn?.();
    }
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
      throw new WrapperError('LimitExceeded', message, { cause, status: TOO_MANY_REQUESTS });
    } finally {
      clearTimeout(timer);
      wait.release();
    }
  }

  async #reviewUser(caller: TokenCaller): Promise<KnownCaller> {
    const { allowedMs, reviews } = this.#options;
    const { id } = caller;
    const last = this.#callers.last(id)?.user;
    const name = await this.#review(caller, last, (signal) => reviews.user(caller, signal));
    if (name !== undefined) return this.#callers.accept(id, userId(name), FOREVER);
    // It is asked again later: the API server may have been upgraded.
    return this.#callers.accept(id, last ?? id, allowedMs);
  }

  async #decide(caller: TokenCaller, known: KnownCaller, read: ReadAttributes) {
    const { decisions } = known;
    const key = digest(read);
    try {
      const review = () => this.#reviewAccess(caller, known, read);
      return decisions.fresh(key) ?? (await this.#decisions.run(review, `${caller.id} ${key}`));
    } catch (error) {
      const { code } = WrapperError.from(error, 'Unreachable');
      const last = decisions.last(key);
      // A caller must not keep a right by our limits, or with a token that is not accepted any more. A 429 of the API
      // server counts as unreachable: in an overload kube-proxy must keep its views, whoever causes it.
      if (last === undefined || code === 'LimitExceeded' || code === 'Unauthorized') throw error;
      this.#counts.stale++;
      this.#options.logger.debug(
        { err: error, ...read },
        'the API server is unreachable; the last decision about a caller is used again',
      );
      return last;
    }
  }

  async #reviewAccess(
    caller: TokenCaller,
    { user, decisions }: KnownCaller,
    read: ReadAttributes,
  ): Promise<Verdict> {
    const { reviews, allowedMs, deniedMs } = this.#options;
    const verdict = await this.#review(caller, user, (signal) =>
      reviews.access(caller, read, signal),
    );
    const ttl = verdict.kind === 'allowed' ? allowedMs : deniedMs;
    decisions.set(digest(read), verdict, { ttl });
    return verdict;
  }

  /** @param user undefined: an unknown caller, whose request has its turn */
  async #review<T>(
    { id }: TokenCaller,
    user: string | undefined,
    review: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const leave = user === undefined ? undefined : this.#active.enter({ user });
    const { deniedMs, reviewMs = REVIEW_MS } = this.#options;
    const signal = AbortSignal.timeout(reviewMs);
    this.#counts.asked++;
    try {
      return await review(signal);
    } catch (error) {
      if (WrapperError.from(error, 'Unreachable').code === 'Unauthorized') {
        this.#callers.refuse(id, deniedMs);
      }
      if (!signal.aborted) throw error;
      const message = `the API server did not answer an access review within ${reviewMs} ms`;
      throw new WrapperError('Unreachable', message, { cause: error });
    } finally {
      leave?.();
    }
  }
}

/** A short key of a read: a selector can be as long as the request headers. */
function digest(attributes: ReadAttributes): string {
  return createHash('sha256').update(JSON.stringify(attributes)).digest('base64url');
}

/** A short id of a user, which no token has. */
function userId(name: string): string {
  return `user ${createHash('sha256').update(name).digest('base64url')}`;
}

function forbidden(
  reason: string,
  { verb, resource, group, namespace }: ReadAttributes,
): WrapperError {
  const what = group === '' ? resource : `${resource}.${group}`;
  const where = namespace === '' ? '' : ` in namespace ${JSON.stringify(namespace)}`;
  const why = reason === '' ? '' : `: ${reason}`;
  return new WrapperError(
    'Forbidden',
    `the owner of the token may not ${verb} ${what}${where}${why}`,
  );
}
