import { decide } from '../../../src/topology/decide/decide.ts';
import type { EndpointGroup } from '../../../src/topology/decide/endpoint.ts';
import { endpointReasons } from '../../../src/topology/explain/endpoint-reasons.ts';
import { keyMaskBy, type MatchesEndpoint } from '../topology/key-mask.ts';

/** Decides, and explains the decision about each endpoint, in the order of the groups, flattened. */
export function decideWithReasons(
  groups: readonly EndpointGroup[],
  keys: readonly string[],
  matches: MatchesEndpoint,
): { readonly kept: boolean; readonly reason: string }[] {
  const decision = decide(groups, keyMaskBy(keys, matches));
  const reasonOf = endpointReasons(decision, keys);
  let index = 0;
  return groups.flatMap(({ ports, endpoints }) =>
    endpoints.map((endpoint) => ({
      kept: decision.keep[index] === 1,
      reason: reasonOf(ports, endpoint, index++),
    })),
  );
}
