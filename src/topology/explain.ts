import { type DecideOptions, decide, matchesBy, type Relates } from './decide.ts';
import type { Endpoint, EndpointGroup } from './endpoint.ts';

/** Why this node sees an endpoint, or does not. */
export interface EndpointReason {
  readonly endpoint: Endpoint;
  readonly kept: boolean;
  /** First key that relates this node and the endpoint; undefined: none does. */
  readonly key: string | undefined;
  /** In words, e.g. `site matches, but kubernetes.io/hostname has ready endpoints`. */
  readonly reason: string;
}

/** Explains the decision about the endpoints of a Service, in the order of the groups, flattened. */
export function explain(
  groups: readonly EndpointGroup[],
  keys: readonly string[],
  relates: Relates,
  options: DecideOptions = {},
): EndpointReason[] {
  const { keep, ports } = decide(groups, matchesBy(keys, relates), options);
  const endpoints = groups.flatMap((group) =>
    group.endpoints.map((endpoint) => ({ endpoint, ports: group.ports })),
  );
  return endpoints.map(({ endpoint, ports: names }, index) => {
    const kept = keep[index] === 1;
    const key = keys.find((each) => relates(each, endpoint));
    const winners = ports.filter(
      ({ family, port }) =>
        family === endpoint.family && (names.length === 0 || names.includes(port)),
    );
    const winner = winners.find(({ key: won }) => won >= 0);
    if (key === undefined) return { endpoint, kept, key, reason: 'no key matches' };
    if (winner === undefined) {
      return { endpoint, kept, key, reason: `${key} matches; no endpoint is ready or serving` };
    }
    const won = keys[winner.key] ?? '';
    const reason = kept
      ? `${won} matches, and has ${winner.stage} endpoints`
      : `${key} matches, but ${won} has ${winner.stage} endpoints`;
    return { endpoint, kept, key, reason };
  });
}
