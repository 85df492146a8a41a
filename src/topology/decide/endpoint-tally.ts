import type { Endpoint, EndpointGroup } from './endpoint.ts';
import type { ClassMatches } from './endpoint-classes.ts';
import { STEP, type Steps } from './steps.ts';

/** Counts of what the keys match among the endpoints of one group and one family. */
export interface EndpointTally {
  readonly family: string;
  readonly ports: readonly string[];
  /** Endpoints by key. */
  readonly ready: Uint32Array;
  readonly serving: Uint32Array;
  readonly total: Uint32Array;
  /** Cache of {@link withoutKey}, by key. */
  readonly without: Map<number, ClassMatches>;
  /** All endpoints of the group, of any family. */
  readonly endpoints: readonly Endpoint[];
  /** Index of the first of `endpoints` among those of all groups. */
  readonly start: number;
}

/**
 * Counts what each key matches, in one pass over the endpoints, whatever number of ports they have.
 *
 * @param masks the keys that match each endpoint, in the order of the groups, flattened
 */
export function* tallyEndpoints(
  groups: readonly EndpointGroup[],
  masks: Uint16Array,
  keys: number,
): Steps<EndpointTally[]> {
  const tallies: EndpointTally[] = [];
  let start = 0;
  for (const { ports, endpoints } of groups) {
    const own = new Map<string, EndpointTally>();
    for (let index = 0; index < endpoints.length; index++) {
      const endpoint = endpoints[index] as Endpoint;
      let tally = own.get(endpoint.family);
      if (tally === undefined) {
        tally = emptyTally(endpoint.family, ports, keys, endpoints, start);
        own.set(endpoint.family, tally);
      }
      count(tally, masks[start + index] as number, endpoint, keys);
      if (index % STEP === STEP - 1) yield;
    }
    tallies.push(...own.values());
    start += endpoints.length;
    yield;
  }
  return tallies;
}

/** What a decision would be made from without the endpoints that a key matches; counted once for each key. */
export function withoutKey(
  tally: EndpointTally,
  masks: Uint16Array,
  gone: number,
  keys: number,
): ClassMatches {
  const cached = tally.without.get(gone);
  if (cached !== undefined) return cached;
  const counts = new Uint32Array(keys);
  let [ready, serving] = [0, 0];
  const { endpoints, family, start } = tally;
  for (let index = 0; index < endpoints.length; index++) {
    const { state, family: own } = endpoints[index] as Endpoint;
    const mask = masks[start + index] as number;
    if (own !== family || (mask & (1 << gone)) !== 0) continue;
    if (state === 'serving') serving |= mask;
    if (state !== 'ready') continue;
    ready |= mask;
    addTo(counts, mask, keys);
  }
  const left = { ready, serving, counts };
  tally.without.set(gone, left);
  return left;
}

function emptyTally(
  family: string,
  ports: readonly string[],
  keys: number,
  endpoints: readonly Endpoint[],
  start: number,
): EndpointTally {
  const [ready, serving, total] = [0, 0, 0].map(() => new Uint32Array(keys)) as [
    Uint32Array,
    Uint32Array,
    Uint32Array,
  ];
  return { family, ports, ready, serving, total, without: new Map(), endpoints, start };
}

function count(tally: EndpointTally, mask: number, { state }: Endpoint, keys: number): void {
  addTo(tally.total, mask, keys);
  if (state === 'ready') addTo(tally.ready, mask, keys);
  else if (state === 'serving') addTo(tally.serving, mask, keys);
}

function addTo(counts: Uint32Array, mask: number, keys: number): void {
  for (let key = 0; key < keys; key++) {
    if ((mask & (1 << key)) !== 0) counts[key] = (counts[key] as number) + 1;
  }
}
