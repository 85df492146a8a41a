import { type Matches, type MatchesEndpoint, matchesBy } from './decide.ts';
import type { Endpoint } from './endpoint.ts';

/** More different lists of keys than this are not remembered at once. */
const MAX_KEY_LISTS = 1_000;
/** Nor more different endpoints for one of them. */
const MAX_ENDPOINTS = 100_000;

/**
 * Remembers which keys match an endpoint, by identity of both: Services share a few lists of keys, and their
 * endpoints, as far as a decision needs them, are the same few objects.
 */
export class MatchCache {
  readonly #relates: MatchesEndpoint;
  readonly #byKeys = new Map<readonly string[], Matches>();

  constructor(relates: MatchesEndpoint) {
    this.#relates = relates;
  }

  /** The keys that match an endpoint, for one list of keys. */
  by(keys: readonly string[]): Matches {
    const known = this.#byKeys.get(keys);
    if (known !== undefined) return known;
    if (this.#byKeys.size >= MAX_KEY_LISTS) this.#byKeys.clear();
    const matches = remember(matchesBy(keys, this.#relates));
    this.#byKeys.set(keys, matches);
    return matches;
  }

  /** A relation changed: nothing that is remembered counts any more. */
  clear(): void {
    this.#byKeys.clear();
  }
}

function remember(matches: Matches): Matches {
  const masks = new Map<Endpoint, number>();
  return (endpoint) => {
    const known = masks.get(endpoint);
    if (known !== undefined) return known;
    if (masks.size >= MAX_ENDPOINTS) masks.clear();
    const mask = matches(endpoint);
    masks.set(endpoint, mask);
    return mask;
  };
}
