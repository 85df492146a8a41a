import { LRUCache } from 'lru-cache';
import type { Verdict } from './access-review.ts';

/** A caller that the API server has authenticated. */
export interface KnownCaller {
  /** The id of its user. */
  readonly user: string;
  /** What it may read. Another token of the same user can have other rights. */
  readonly decisions: AnswerCache<Verdict>;
}

/** What is known of a token. Without a user: the API server does not accept it. */
export type CachedCaller = KnownCaller | { readonly user: undefined };

/** Bytes of the decisions of one caller: some 50. kube-proxy needs about ten. */
const MAX_DECISION_BYTES = 8 * 1024;
/** What a decision takes beside its reason, in bytes. */
const DECISION_BYTES = 150;
/** The share of the cached callers that the tokens of one user may take. */
const USER_CACHE_SHARE = 1 / 4;

/** Answers of the API server that expire. An expired one is still the last answer, until others need its room. */
class AnswerCache<Answer extends object> extends LRUCache<string, Answer> {
  /** @param now a clock in milliseconds, never 0 */
  constructor(now: () => number, limits: LRUCache.Options<string, Answer, unknown>) {
    const expiry = { perf: { now }, ttlResolution: 0, allowStale: true, noDeleteOnStaleGet: true };
    super({ ...expiry, ...limits });
  }

  /** The answer, if it has not expired. */
  fresh(key: string): Answer | undefined {
    return this.has(key) ? this.get(key) : undefined;
  }

  /** The answer, however old it is. */
  last(key: string): Answer | undefined {
    return this.peek(key);
  }
}

/**
 * What the API server has answered about callers, by the id of their token.
 *
 * Tokens that are not accepted count as one user, and their share is additional room. So invented tokens evict
 * only each other, and a user with many tokens evicts only its own.
 */
export class CallerCache extends AnswerCache<CachedCaller> {
  readonly #now: () => number;
  /** Maximum number of tokens of one user. */
  readonly #share: number;

  /**
   * @param maxCallers maximum number of authenticated callers, each of which takes 10 KiB at most
   * @param now a clock in milliseconds, never 0
   */
  constructor(maxCallers: number, now: () => number) {
    const share = Math.max(1, Math.floor(maxCallers * USER_CACHE_SHARE));
    super(now, { max: maxCallers + share });
    this.#now = now;
    this.#share = share;
  }

  /** @param ttl how long the caller has this user, in milliseconds; 0: for ever */
  accept(id: string, user: string, ttl: number): KnownCaller {
    const last = this.last(id);
    const decisions = last?.user === undefined ? this.#createDecisions() : last.decisions;
    return this.#remember(id, { user, decisions }, ttl);
  }

  /** @param ttl how long the token is not reviewed again, in milliseconds */
  refuse(id: string, ttl: number): void {
    this.#remember(id, { user: undefined }, ttl);
  }

  #remember<Caller extends CachedCaller>(id: string, caller: Caller, ttl: number): Caller {
    this.delete(id);
    const sameUser = [...this.entries()].filter(([, { user }]) => user === caller.user);
    for (const [leastUsed] of sameUser.slice(this.#share - 1)) this.delete(leastUsed);
    this.set(id, caller, { ttl });
    return caller;
  }

  #createDecisions(): AnswerCache<Verdict> {
    return new AnswerCache(this.#now, {
      maxSize: MAX_DECISION_BYTES,
      sizeCalculation: (decision) =>
        DECISION_BYTES + ('reason' in decision ? 2 * decision.reason.length : 0),
    });
  }
}
