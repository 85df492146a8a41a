import type { Endpoint } from './endpoint.ts';

/** Whether a topology key matches an endpoint, seen from this node. */
export type MatchesEndpoint = (key: string, endpoint: Endpoint) => boolean;

/** The keys that match an endpoint: bit i for key i. */
export type KeyMaskOf = (endpoint: Endpoint) => number;

/** Compares an endpoint with each key of a list. */
export function keyMaskBy(keys: readonly string[], matches: MatchesEndpoint): KeyMaskOf {
  return (endpoint) => {
    let mask = 0;
    for (let key = 0; key < keys.length; key++) {
      if (matches(keys[key] as string, endpoint)) mask |= 1 << key;
    }
    return mask;
  };
}
