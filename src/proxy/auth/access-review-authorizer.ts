import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { ReadAttributes } from './access-policy.ts';
import type { KnownCaller, Verdict } from './access-review.ts';
import { DecisionCache } from './decision-cache.ts';

export interface AccessReviewAuthorizerOptions {
  /** Asks the API server. */
  readonly ask: (
    caller: KnownCaller,
    attributes: ReadAttributes,
    signal: AbortSignal,
  ) => Promise<Verdict>;
  /** How long a yes holds, in milliseconds. */
  readonly allowedMs: number;
  /** How long a no holds, in milliseconds. */
  readonly deniedMs: number;
  /** Callers that are remembered: so many that were let in, and so many that were not. */
  readonly maxCallers: number;
  /** Reviews under way at once for callers that were never let in. */
  readonly maxReviews: number;
  /** How long the API server may take to answer, in milliseconds; default 8,000. */
  readonly reviewMs?: number;
  /** A monotonic clock in milliseconds; default: `performance.now`. */
  readonly now?: () => number;
  readonly logger: Logger;
}

/** Questions that are remembered of one caller: kube-proxy has about ten. */
const MAX_ANSWERS = 64;
/** In place of a question: a token that is not taken is good for none. */
const ANY = '';
/**
 * How long the API server may take to answer before it is taken for away, in milliseconds: longer than a connection
 * may take, which says more about why.
 */
const REVIEW_MS = 8_000;

/**
 * Whether a caller may read: asked of the API server, and remembered for a while. While the API server is
 * away the last answer counts, of callers that are known; others have to wait until it is back.
 *
 * A yes and a no are kept apart: made-up tokens never push out a caller that was let in.
 */
export class AccessReviewAuthorizer {
  readonly #options: AccessReviewAuthorizerOptions;
  readonly #now: () => number;
  readonly #allowed: DecisionCache<Extract<Verdict, { kind: 'allowed' }>>;
  readonly #refused: DecisionCache<Exclude<Verdict, { kind: 'allowed' }>>;
  /** Reviews under way, shared by all who ask the same. */
  readonly #asking = new Map<string, Promise<Verdict>>();
  #asked = 0;
  #strangers = 0;
  #stale = 0;

  constructor(options: AccessReviewAuthorizerOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#allowed = new DecisionCache(options.maxCallers, MAX_ANSWERS);
    this.#refused = new DecisionCache(options.maxCallers, MAX_ANSWERS);
  }

  /** Reviews asked of the API server, and answers given from memory because it was away, since the start. */
  get counts(): { readonly asked: number; readonly stale: number } {
    return { asked: this.#asked, stale: this.#stale };
  }

  /** Rejects with `Forbidden`, `Unauthorized`, `LimitExceeded` or `Unreachable` unless the caller may. */
  async assert(caller: KnownCaller, attributes: ReadAttributes): Promise<void> {
    assertAllowed(await this.#verdict(caller, attributes), caller, attributes);
  }

  async #verdict(caller: KnownCaller, attributes: ReadAttributes): Promise<Verdict> {
    const query = digest(attributes);
    const { allowedMs, deniedMs } = this.#options;
    const yes = this.#allowed.get(caller.id, query);
    if (yes !== undefined && this.#now() - yes.at < allowedMs) return yes.answer;
    const no = this.#refused.get(caller.id, ANY) ?? this.#refused.get(caller.id, query);
    if (no !== undefined && this.#now() - no.at < deniedMs) return no.answer;
    try {
      return await this.#ask(caller, attributes, query);
    } catch (error) {
      const last = yes ?? no;
      if (last === undefined || WrapperError.from(error, 'Unreachable').code === 'LimitExceeded') {
        throw error;
      }
      this.#stale++;
      this.#options.logger.debug(
        { err: error, ...attributes },
        'the last answer about a caller is kept',
      );
      return last.answer;
    }
  }

  async #ask(caller: KnownCaller, attributes: ReadAttributes, query: string): Promise<Verdict> {
    const key = `${caller.id} ${query}`;
    const asking = this.#asking.get(key);
    if (asking !== undefined) return asking;
    const stranger = !this.#allowed.has(caller.id);
    if (stranger && this.#strangers >= this.#options.maxReviews)
      throw tooMany(this.#options.maxReviews);
    this.#asked++;
    if (stranger) this.#strangers++;
    const started = this.#answerTo(caller, attributes)
      .then((verdict) => {
        this.#remember(caller.id, query, verdict);
        return verdict;
      })
      .finally(() => {
        this.#asking.delete(key);
        if (stranger) this.#strangers--;
      });
    this.#asking.set(key, started);
    return started;
  }

  async #answerTo(caller: KnownCaller, attributes: ReadAttributes): Promise<Verdict> {
    const { ask, reviewMs = REVIEW_MS } = this.#options;
    const signal = AbortSignal.timeout(reviewMs);
    try {
      return await ask(caller, attributes, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      const message = `the API server did not answer an access review within ${reviewMs} ms`;
      throw new WrapperError('Unreachable', message, { cause: error });
    }
  }

  #remember(id: string, query: string, verdict: Verdict): void {
    if (verdict.kind === 'unauthenticated') {
      this.#allowed.forgetCaller(id);
      this.#refused.forgetCaller(id);
      this.#refused.set(id, ANY, verdict, this.#now());
      return;
    }
    this.#refused.forget(id, ANY);
    if (verdict.kind === 'allowed') {
      this.#refused.forget(id, query);
      this.#allowed.set(id, query, verdict, this.#now());
    } else {
      this.#allowed.forget(id, query);
      this.#refused.set(id, query, verdict, this.#now());
    }
  }
}

/** Tells questions apart without holding them: a selector may be as long as headers may be. */
function digest(attributes: ReadAttributes): string {
  return createHash('sha256').update(JSON.stringify(attributes)).digest('base64url');
}

function assertAllowed(verdict: Verdict, caller: KnownCaller, attributes: ReadAttributes): void {
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

function tooMany(maxReviews: number): WrapperError {
  return new WrapperError(
    'LimitExceeded',
    `${maxReviews} callers that are not known yet are asked about already (https.maxReviews)`,
  );
}
