import type { Endpoint } from '../../../src/topology/decide/endpoint.ts';
import type { KeyMaskOf } from '../../../src/topology/decide/endpoint-classes.ts';

/** Whether a topology key matches an endpoint, seen from this node. */
export type MatchesEndpoint = (key: string, endpoint: Endpoint) => boolean;

/** Compares an endpoint with each key of a list. */
export function keyMaskBy(keys: readonly string[], matches: MatchesEndpoint): KeyMaskOf {
  return (endpoint) =>
    keys.reduce((mask, key, index) => (matches(key, endpoint) ? mask | (1 << index) : mask), 0);
}
