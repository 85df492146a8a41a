import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { SingleFlight } from '../util/single-flight.ts';
import type { ReadAttributes } from './access-policy.ts';
import type { IdentifiedCaller, Verdict } from './access-review.ts';
import { DecisionCache } from './decision-cache.ts';

export interface AccessReviewAuthorizerOptions {
  /** Requests a decision from the API server. */
  readonly review: (
    caller: IdentifiedCaller,
    attributes: ReadAttributes,
    signal: AbortSignal,
  ) => Promise<Verdict>;
  /** How long a positive decision is valid, in milliseconds. */
  readonly allowedMs: number;
  /** How long a negative decision is valid, in milliseconds. */
  readonly deniedMs: number;
  /** Maximum number of cached callers: this many that were allowed, and this many that were not. */
  readonly maxCallers: number;
  /** Maximum number of concurrent reviews for callers that have not been allowed anything yet. */
  readonly maxReviews: number;
  /** How long the API server may take to answer, in milliseconds; default 8,000. */
  readonly reviewMs?: number;
  /** A monotonic clock in milliseconds; default: `performance.now`. */
  readonly now?: () => number;
  readonly logger: Logger;
}

/** Cached decisions of one caller; kube-proxy needs about ten. */
const MAX_DECISIONS = 64;
/** The key of the decision about every read: a token that is not accepted is valid for none. */
const ANY = '';
/**
 * How long the API server may take to answer before it counts as unreachable, in milliseconds. It is longer than the
 * time to connect, because an error of the connection has more detail.
 */
const REVIEW_MS = 8_000;

/**
 * Authorizes reads by access reviews of the API server, and caches the decisions for a while. If the API server is
 * unreachable, the last decision about a caller remains valid. Without one, the caller gets `Unreachable`.
 *
 * Positive and negative decisions have separate caches: invented tokens never evict a caller that was allowed.
 */
export class AccessReviewAuthorizer {
  readonly #options: AccessReviewAuthorizerOptions;
  readonly #now: () => number;
  readonly #allowed: DecisionCache<Extract<Verdict, { kind: 'allowed' }>>;
  readonly #refused: DecisionCache<Exclude<Verdict, { kind: 'allowed' }>>;
  /** Active reviews. Equal requests share one. */
  readonly #reviews = new SingleFlight<Verdict>();
  readonly #counts = { asked: 0, stale: 0 };
  /** Active reviews for callers that have not been allowed anything yet. */
  #unknownCallers = 0;

  constructor(options: AccessReviewAuthorizerOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#allowed = new DecisionCache(options.maxCallers, MAX_DECISIONS);
    this.#refused = new DecisionCache(options.maxCallers, MAX_DECISIONS);
  }

  /** Since the start: reviews sent to the API server, and old decisions used because it was unreachable. */
  get counts(): { readonly asked: number; readonly stale: number } {
    return this.#counts;
  }

  /** Rejects with `Forbidden`, `Unauthorized`, `LimitExceeded` or `Unreachable` if the caller may not read this. */
  async authorize(caller: IdentifiedCaller, attributes: ReadAttributes): Promise<void> {
    assertAllowed(await this.#decide(caller, attributes), caller, attributes);
  }

  async #decide(caller: IdentifiedCaller, attributes: ReadAttributes): Promise<Verdict> {
    const readKey = digest(attributes);
    const { allowedMs, deniedMs } = this.#options;
    const allowed = this.#allowed.get(caller.id, readKey);
    if (allowed !== undefined && this.#now() - allowed.at < allowedMs) return allowed.decision;
    const refused = this.#refused.get(caller.id, ANY) ?? this.#refused.get(caller.id, readKey);
    if (refused !== undefined && this.#now() - refused.at < deniedMs) return refused.decision;
    try {
      return await this.#review(caller, attributes, readKey);
    } catch (error) {
      const last = allowed ?? refused;
      if (last === undefined || WrapperError.from(error, 'Unreachable').code === 'LimitExceeded') {
        throw error;
      }
      this.#counts.stale++;
      this.#options.logger.debug(
        { err: error, ...attributes },
        'the API server is unreachable; the last decision about a caller is used again',
      );
      return last.decision;
    }
  }

  async #review(
    caller: IdentifiedCaller,
    attributes: ReadAttributes,
    readKey: string,
  ): Promise<Verdict> {
    const key = `${caller.id} ${readKey}`;
    const active = this.#reviews.current(key);
    if (active !== undefined) return active;
    const { maxReviews } = this.#options;
    const isUnknown = !this.#allowed.has(caller.id);
    if (isUnknown && this.#unknownCallers >= maxReviews) throw tooManyReviews(maxReviews);
    this.#counts.asked++;
    if (isUnknown) this.#unknownCallers++;
    return this.#reviews.run(async () => {
      try {
        const verdict = await this.#requestReview(caller, attributes);
        this.#store(caller.id, readKey, verdict);
        return verdict;
      } finally {
        if (isUnknown) this.#unknownCallers--;
      }
    }, key);
  }

  async #requestReview(caller: IdentifiedCaller, attributes: ReadAttributes): Promise<Verdict> {
    const { review, reviewMs = REVIEW_MS } = this.#options;
    const signal = AbortSignal.timeout(reviewMs);
    try {
      return await review(caller, attributes, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      const message = `the API server did not answer an access review within ${reviewMs} ms`;
      throw new WrapperError('Unreachable', message, { cause: error });
    }
  }

  #store(id: string, readKey: string, verdict: Verdict): void {
    if (verdict.kind === 'unauthenticated') {
      this.#allowed.deleteCaller(id);
      this.#refused.deleteCaller(id);
      this.#refused.set(id, ANY, verdict, this.#now());
      return;
    }
    this.#refused.delete(id, ANY);
    if (verdict.kind === 'allowed') {
      this.#refused.delete(id, readKey);
      this.#allowed.set(id, readKey, verdict, this.#now());
    } else {
      this.#allowed.delete(id, readKey);
      this.#refused.set(id, readKey, verdict, this.#now());
    }
  }
}

/** A short key of a read: a selector can be as long as the request headers. */
function digest(attributes: ReadAttributes): string {
  return createHash('sha256').update(JSON.stringify(attributes)).digest('base64url');
}

function assertAllowed(
  verdict: Verdict,
  caller: IdentifiedCaller,
  attributes: ReadAttributes,
): void {
  if (verdict.kind === 'allowed') return;
  if (verdict.kind === 'unauthenticated') {
    throw new WrapperError('Unauthorized', 'the API server does not accept the token');
  }
  const { verb, resource, group, namespace } = attributes;
  const who =
    caller.kind === 'certificate' ? JSON.stringify(caller.user) : 'the owner of the token';
  const what = group === '' ? resource : `${resource}.${group}`;
  const where = namespace === '' ? '' : ` in namespace ${JSON.stringify(namespace)}`;
  const why = verdict.reason === '' ? '' : `: ${verdict.reason}`;
  throw new WrapperError('Forbidden', `${who} may not ${verb} ${what}${where}${why}`);
}

function tooManyReviews(maxReviews: number): WrapperError {
  return new WrapperError(
    'LimitExceeded',
    `${maxReviews} reviews of unknown callers are active already`,
  );
}
