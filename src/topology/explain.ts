import { type DecideOptions, type Decision, decide, matchesBy, type Relates } from './decide.ts';
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
  const decision = decide(groups, matchesBy(keys, relates), options);
  return explainEndpoints(groups, decision, keys, relates);
}

/** Says of each endpoint what a decision that was taken means for it. */
export function explainEndpoints(
  groups: readonly EndpointGroup[],
  { keep, ports }: Decision,
  keys: readonly string[],
  relates: Relates,
): EndpointReason[] {
  const endpoints = groups.flatMap((group) =>
    group.endpoints.map((endpoint) => ({ endpoint, names: group.ports })),
  );
  return endpoints.map(({ endpoint, names }, index) => {
    const kept = keep[index] === 1;
    const winners = ports.filter(
      ({ family, port }) =>
        family === endpoint.family && (names.length === 0 ? port === '' : names.includes(port)),
    );
    const matching = keys.flatMap((each, at) => (relates(each, endpoint) ? [at] : []));
    const [first] = matching;
    const key = first === undefined ? undefined : keys[first];
    // With several ports the one that keeps the endpoint tells why it stays.
    const keeps = winners.find((each) => matching.includes(each.key) || (kept && each.key < 0));
    const winner = keeps ?? winners[0];
    const reason = reasonOf({ endpoint, kept, keys, first, winner });
    return { endpoint, kept, key, reason };
  });
}

function reasonOf(about: {
  readonly endpoint: Endpoint;
  readonly kept: boolean;
  readonly keys: readonly string[];
  /** Index of the first key that matches. */
  readonly first: number | undefined;
  readonly winner: Decision['ports'][number] | undefined;
}): string {
  const { endpoint, kept, keys, first, winner } = about;
  if (first === undefined) {
    return endpoint.node === '' ? 'no key matches: it names no node' : 'no key matches';
  }
  const key = keys[first];
  if (winner === undefined || winner.key < 0)
    return `${key} matches; no endpoint is ready or serving`;
  const won = keys[winner.key];
  if (kept) return `${won} matches, and has ${winner.stage} endpoints`;
  // A nearer key that did not win: see the counts, and the delay, of its port.
  if (first < winner.key) return `${key} matches, but does not count yet; ${won} does`;
  return `${key} matches, but ${won} has ${winner.stage} endpoints`;
}
