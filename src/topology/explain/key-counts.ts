import type { EndpointGroup } from '../decide/endpoint.ts';

/** Counts of what each key matches among the endpoints that share their family and ports. */
export interface ClassCounts {
  readonly family: string;
  readonly ports: readonly string[];
  /** Endpoints by key. */
  readonly ready: Uint32Array;
  readonly serving: Uint32Array;
  readonly total: Uint32Array;
}

/**
 * Counts what each key matches, in one pass over the endpoints, whatever number of ports they have. Lists of ports are
 * compared by identity, as in endpoint-classes.ts.
 *
 * @param masks the keys that match each endpoint, in the order of the groups, flattened
 */
export function countByClass(
  groups: readonly EndpointGroup[],
  masks: Uint16Array,
  keys: number,
): ClassCounts[] {
  const all: ClassCounts[] = [];
  let index = 0;
  for (const { ports, endpoints } of groups) {
    let counts: ClassCounts | undefined;
    for (const { family, state } of endpoints) {
      if (counts?.family !== family) counts = classOf(all, family, ports, keys);
      const mask = masks[index++] as number;
      addTo(counts.total, mask);
      if (state === 'ready') addTo(counts.ready, mask);
      else if (state === 'serving') addTo(counts.serving, mask);
    }
  }
  return all;
}

function classOf(
  all: ClassCounts[],
  family: string,
  ports: readonly string[],
  keys: number,
): ClassCounts {
  const known = all.find((each) => each.family === family && each.ports === ports);
  if (known !== undefined) return known;
  const none = () => new Uint32Array(keys);
  const added = { family, ports, ready: none(), serving: none(), total: none() };
  all.push(added);
  return added;
}

function addTo(counts: Uint32Array, mask: number): void {
  for (let key = 0; key < counts.length; key++) {
    if ((mask & (1 << key)) !== 0) counts[key] = (counts[key] as number) + 1;
  }
}
