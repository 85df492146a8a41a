import {
  type Endpoint,
  type EndpointGroup,
  type EndpointState,
  NO_PORTS,
  portId,
} from './endpoint.ts';

/**
 * For each endpoint of all groups, the ports for which it counts; undefined: for none, because it is a copy, and
 * others count in its place.
 */
export type CountedPorts = readonly (readonly string[] | undefined)[];

/** What decides between copies. */
export interface CopyRules {
  /** As in DecideOptions. */
  readonly ports?: readonly string[] | undefined;
  readonly alsoKeep?: ((endpoint: Endpoint) => boolean) | undefined;
}

/** An endpoint whose address another one has too. */
interface Copy {
  /** Among the endpoints of all groups. */
  readonly index: number;
  readonly endpoint: Endpoint;
  readonly group: GroupPorts;
  /** The better, the smaller. */
  readonly state: number;
  readonly mask: number;
  readonly isLocal: boolean;
}

/** The ports of a group that count. Groups with equal ports and numbers share one object. */
interface GroupPorts {
  /** Differs from those of other ports. */
  readonly kind: number;
  readonly names: readonly string[];
  /** One number for each port name and number; equal ones are one backend port for kube-proxy. */
  readonly ids: readonly number[];
}

/**
 * At most so many copies are compared, and so many of their ports. Addresses whose copies have the same ports and
 * states are compared once: 12,500 endpoints may be in two slices each.
 */
const MAX_COMPARED = 25_000;

/**
 * The one rule for what an endpoint is. kube-proxy has one backend for each address and port number of a port of the
 * Service, however many endpoints of one or more slices name it (pkg/proxy/endpointslicecache.go). Of such copies one
 * counts: the first in this order.
 *
 * 1. One that does not terminate, as in kube-proxy 1.36.
 * 2. A ready one, then a serving one. kube-proxy leaves it to chance, so the others are not shown to it.
 * 3. One that is kept whatever key wins: kube-proxy needs to know that it is on this node.
 * 4. One that a nearer key matches, because the copies may name different nodes.
 * 5. One of a slice with more ports; then the first one. The groups have a fixed order.
 *
 * An endpoint counts for the ports for which it is the first. kube-proxy cannot tell some copies apart: of these only
 * the best one counts. A worse one counts for none of its ports, because it would be shown for all of them.
 *
 * @param masks of all endpoints, as in Decision
 * @returns undefined: there are no copies, as in nearly all Services; `tooMany`: see {@link MAX_COMPARED}
 */
export function countedPorts(
  groups: readonly EndpointGroup[],
  masks: Uint16Array,
  rules: CopyRules,
): CountedPorts | 'tooMany' | undefined {
  const copies = copiesByAddress(groups, masks, rules);
  if (copies === undefined) return 'tooMany';
  const counted = groups.flatMap(({ ports, endpoints }) =>
    endpoints.map((): readonly string[] | undefined => ports),
  );
  const known = new Map<string, readonly CopyPorts[]>();
  const shared = new Map<string, readonly string[]>();
  let compared = 0;
  let differs = false;
  for (const same of copies.values()) {
    const kinds = same.sort(byPreference).map(kindOf).join();
    let own = known.get(kinds);
    if (own === undefined) {
      for (const { group } of same) compared += group.ids.length;
      if (compared > MAX_COMPARED) return 'tooMany';
      own = compare(same, shared);
      known.set(kinds, own);
    }
    for (const [at, { index }] of same.entries()) {
      const ports = own[at];
      if (ports === 'all') continue;
      differs = true;
      counted[index] = ports;
    }
  }
  return differs ? counted : undefined;
}

/** All that decides, of copies in their order, which of them count for which ports. */
function kindOf({ group, state }: Copy): number {
  return 2 * STATES.length * group.kind + state;
}

/** The ports for which a copy counts, as in CountedPorts; `all`: those of its group. */
type CopyPorts = readonly string[] | 'all' | undefined;

/** @param same copies with one address, the better ones first */
function compare(
  same: readonly Copy[],
  shared: Map<string, readonly string[]>,
): readonly CopyPorts[] {
  const better = new BetterCopies();
  return same.map(({ endpoint, group }) => {
    const own = better.add(endpoint, group.ids);
    if (own.length === group.ids.length) return 'all';
    return own.length === 0 ? undefined : partOf(group, new Set(own), shared);
  });
}

/** The endpoints whose address another one has too, by address; undefined: there are too many. */
function copiesByAddress(
  groups: readonly EndpointGroup[],
  masks: Uint16Array,
  { ports, alsoKeep = () => false }: CopyRules,
): Map<number, Copy[]> | undefined {
  const counts = new Map<number, number>();
  for (const { addresses } of groups) {
    for (const address of addresses) counts.set(address, (counts.get(address) ?? 0) + 1);
  }
  const copies = new Map<number, Copy[]>();
  const lists = new PortLists(ports);
  let count = 0;
  let index = 0;
  for (const group of groups) {
    const byFamily = new Map<string, GroupPorts>();
    for (const [at, endpoint] of group.endpoints.entries()) {
      const address = group.addresses[at] as number;
      const mask = masks[index++] as number;
      if (counts.get(address) === 1) continue;
      if (++count > MAX_COMPARED) return undefined;
      const { family } = endpoint;
      const own = byFamily.get(family) ?? lists.of(group, family);
      byFamily.set(family, own);
      const isLocal = alsoKeep(endpoint);
      const copy = {
        index: index - 1,
        endpoint,
        group: own,
        state: stateOf(endpoint),
        mask,
        isLocal,
      };
      const same = copies.get(address);
      if (same === undefined) copies.set(address, [copy]);
      else same.push(copy);
    }
  }
  return copies;
}

/** The ports of groups that count, equal ones once. */
class PortLists {
  readonly #wanted: ReadonlySet<string> | undefined;
  readonly #known = new Map<string, GroupPorts>();
  readonly #ids = new Map<string, number>();

  constructor(wanted: readonly string[] | undefined) {
    this.#wanted = wanted && new Set(wanted);
  }

  of({ ports, numbers }: EndpointGroup, family: string): GroupPorts {
    const id = `${family}\n${ports.join('\n')}\n${numbers.join()}`;
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const own: { kind: number; names: string[]; ids: number[] } = {
      kind: this.#known.size,
      names: [],
      ids: [],
    };
    for (const [at, port] of (ports.length === 0 ? NO_PORTS : ports).entries()) {
      if (this.#wanted?.has(portId({ family, port })) === false) continue;
      const text = `${numbers[at]} ${port}`;
      const number = this.#ids.get(text) ?? this.#ids.size;
      this.#ids.set(text, number);
      own.names.push(port);
      own.ids.push(number);
    }
    this.#known.set(id, own);
    return own;
  }
}

const STATES: readonly EndpointState[] = ['ready', 'serving', 'notReady'];

function stateOf({ terminating, state }: Endpoint): number {
  return (terminating ? STATES.length : 0) + STATES.indexOf(state);
}

/** The order in {@link countedPorts}. */
function byPreference(a: Copy, b: Copy): number {
  return (
    a.state - b.state ||
    Number(b.isLocal) - Number(a.isLocal) ||
    byNearestKey(a.mask, b.mask) ||
    b.group.ids.length - a.group.ids.length ||
    a.index - b.index
  );
}

/** The mask that has the first key in which two masks differ comes first. */
function byNearestKey(a: number, b: number): number {
  const differing = a ^ b;
  const first = differing & -differing;
  return first === 0 ? 0 : (b & first) - (a & first);
}

/** The copies with one address that count, the better ones first. */
class BetterCopies {
  readonly #taken = new Set<number>();
  /** The states of those that do not terminate and of those that do, by the ports of their slices. */
  readonly #states = [new Map<number, EndpointState>(), new Map<number, EndpointState>()] as const;

  /** Adds the next one, and returns the ports for which it counts. */
  add({ terminating, state }: Endpoint, ids: readonly number[]): readonly number[] {
    const states = this.#states[terminating ? 1 : 0];
    const own = ids.filter((id) => !this.#taken.has(id));
    for (const id of own) this.#taken.add(id);
    // A better copy in another state has one of these ports, and kube-proxy cannot tell the two apart: this one counts
    // for no port. What it has taken stays taken, so that no worse copy counts for it either.
    if (ids.some((id) => (states.get(id) ?? state) !== state)) return [];
    if (own.length > 0) for (const id of ids) states.set(id, state);
    return own;
  }
}

/** The ports with these ids. Equal lists are one, as in EndpointClass. */
function partOf(
  { names, ids }: GroupPorts,
  own: ReadonlySet<number>,
  shared: Map<string, readonly string[]>,
): readonly string[] {
  const part = names.filter((_, at) => own.has(ids[at] as number));
  const text = part.join('\n');
  const known = shared.get(text) ?? part;
  shared.set(text, known);
  return known;
}

/** Whether two endpoints may have one address. */
export function mayHaveCopies(groups: readonly EndpointGroup[]): boolean {
  let count = 0;
  for (const { addresses } of groups) count += addresses.length;
  return count > FEW ? hasEqual(groups, count) : hasEqualOfFew(groups);
}

/** So many addresses are compared one by one, which takes a quarter to a half of the time that a Set takes. */
const FEW = 12;

function hasEqualOfFew(groups: readonly EndpointGroup[]): boolean {
  for (let at = 0; at < groups.length; at++) {
    const { addresses } = groups[at] as EndpointGroup;
    for (let index = 0; index < addresses.length; index++) {
      const address = addresses[index] as number;
      if (addresses.indexOf(address, index + 1) >= 0) return true;
      for (let other = at + 1; other < groups.length; other++) {
        if ((groups[other] as EndpointGroup).addresses.includes(address)) return true;
      }
    }
  }
  return false;
}

function hasEqual(groups: readonly EndpointGroup[], count: number): boolean {
  const seen = new Set<number>();
  for (const { addresses } of groups) for (const address of addresses) seen.add(address);
  return seen.size < count;
}
