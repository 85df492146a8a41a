import type { Endpoint } from './endpoint.ts';
import { type KeyMaskOf, keyMaskBy, type MatchesEndpoint } from './key-mask.ts';

/** The cache is emptied when it has more lists of keys than this. */
const MAX_KEY_LISTS = 1_000;
/** The masks of one list of keys are emptied when they are more than this. */
const MAX_ENDPOINTS = 100_000;

/**
 * Caches which keys match an endpoint. Both are compared by identity: Services share a few lists of keys, and
 * equal endpoints are one object.
 */
export class KeyMaskCache {
  readonly #matches: MatchesEndpoint;
  readonly #byKeys = new Map<readonly string[], KeyMaskOf>();

  constructor(matches: MatchesEndpoint) {
    this.#matches = matches;
  }

  /** The keys that match an endpoint, for one list of keys. */
  by(keys: readonly string[]): KeyMaskOf {
    const cached = this.#byKeys.get(keys);
    if (cached !== undefined) return cached;
    if (this.#byKeys.size >= MAX_KEY_LISTS) this.#byKeys.clear();
    const keyMaskOf = memoize(keyMaskBy(keys, this.#matches));
    this.#byKeys.set(keys, keyMaskOf);
    return keyMaskOf;
  }

  /** Must be called whenever a key matches other endpoints than before. */
  clear(): void {
    this.#byKeys.clear();
  }
}

function memoize(keyMaskOf: KeyMaskOf): KeyMaskOf {
  const masks = new Map<Endpoint, number>();
  return (endpoint) => {
    const cached = masks.get(endpoint);
    if (cached !== undefined) return cached;
    if (masks.size >= MAX_ENDPOINTS) masks.clear();
    const mask = keyMaskOf(endpoint);
    masks.set(endpoint, mask);
    return mask;
  };
}
