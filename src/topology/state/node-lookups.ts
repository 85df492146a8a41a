import type { Clock } from '../../util/clock.ts';
import { TokenBucket } from '../../util/token-bucket.ts';
import { isLabelValue, isSubdomain } from '../policy/label.ts';
import { LookupWait } from './lookup-wait.ts';

/**
 * What a look-up has found: the zone label of each Node that exists, empty if it has none; or why nothing is known.
 * Also what earlier look-ups have found, those of other processes included.
 */
export type FoundNodes = (
  | { readonly zones: ReadonlyMap<string, string> }
  /** `isUnasked`: no request was sent. */
  | { readonly error: string; readonly isUnasked?: boolean }
) & { readonly remembered?: ReadonlyMap<string, string> | undefined };

export interface NodeRequest {
  /** Each of these few is looked up by its name, with a request of its own. */
  readonly names: readonly string[];
  /** All of these in one request, by their label kubernetes.io/hostname, which need not be their name. */
  readonly hostnames: readonly string[];
  /** The resourceVersion that the answer must have reached; empty: the newest. */
  readonly version: string;
}

/** Looks up Nodes, because the topology does no I/O. */
export interface NodeFinder {
  readonly clock: Clock;
  /** The zones of all Nodes, empty if a Node has none; default: they are not known, and Nodes are looked up. */
  readonly known?: ReadonlyMap<string, string>;
  /** Looks up Nodes, and calls `done` once, within a limit of its own: views wait for the first answer. */
  find(request: NodeRequest, done: (found: FoundNodes) => void): void;
  /** Nodes that endpoints of this Namespace name are not looked up, because there are too many. */
  onTooMany(namespace: string): void;
}

export interface NodeLookupsOptions {
  readonly finder: NodeFinder;
  /** The zone of this node; undefined: it has none. */
  readonly ownZone: () => string | undefined;
  /** The resourceVersion of the node set of the zone: no answer may be older. */
  readonly version: () => string;
  /** Decides Services with an endpoint on these nodes again, which requests the look-ups that are still needed. */
  readonly onNodes: (nodes: readonly string[]) => void;
  /** In [0, 1); default: `Math.random`. */
  readonly random?: () => number;
}

/** A Node that is looked up, or was. */
interface Lookup {
  readonly node: string;
  /** The first Namespace that needs it. */
  readonly namespace: string;
  /** Its zone by its label; undefined: there is no such Node, or nothing is known yet. */
  zone: string | undefined;
  isAnswered: boolean;
  /** Its zone was another one than the zone of this node. */
  isElsewhere: boolean;
  /** It was not found by its label kubernetes.io/hostname, or cannot be. */
  isByName: boolean;
  /** How many further answers have come since it was needed last. */
  unneeded: number;
  intervalMs: number;
  dueAt: number;
}

/** So many are looked up by name at once; if more are due, they are looked up together by hostname first. */
const FEW = 4;
/** Names in one request: about 5 KB. */
const MOST_NAMES = 100;
/** At most so many names that no Node is known to have: tenants invent them. Nodes that exist do not count. */
const MAX_UNKNOWN = 4096;
/** Rounds of one request by hostname and {@link FEW} by name: in the long run two requests a second. */
const ROUNDS = { burst: 8, refillMs: 2_500 };
/**
 * When a Node is looked up again, because it may be created or deleted, in milliseconds: each time twice as late. By
 * name it costs as much as {@link MOST_NAMES} together, so it is done as rarely.
 */
const AGAIN = { firstMs: 1_000, maxMs: 3_600_000, byNameMs: MOST_NAMES * 3_600_000 };
/** After a failure, each time twice as late, in milliseconds; always the first, if no request was sent. */
const FAILED = { firstMs: 1_000, maxMs: 30_000 };
/** A Node is dropped at so many answers that nobody has needed. The relays of a node look a second later. */
const UNNEEDED = 2;

/**
 * The Nodes that the field `zone` of an endpoint puts into this node's zone, and that are not in the node set of the
 * zone. The field may be old, because the control plane does not write it again when a Node is relabelled. So each of
 * these Nodes is looked up: one that exists is {@link isElsewhere}. Until it is answered, what an earlier look-up has
 * found applies, if the disk has it. In all other cases the field does.
 *
 * ```text
 *           request()          answer
 *   absent ───────────▶ open ──────────▶ answered ◀──┐ asked again after 1 s, 2 s … 1 h;
 *      ▲                │  ▲                │  └─────┘ by name: after 100 h
 *      │                └──┘                │
 *      │    not found by hostname,          │
 *      │    next by name                    │ no Service needs it any more: two answers later
 *      └────────────────────────────────────┘
 *   any of them: forget(), because the node entered or left the zone's node set ──▶ absent
 * ```
 *
 * A round asks what is due: by name {@link FEW}, by hostname {@link MOST_NAMES} together. One round at a time is under
 * way. It takes along what will be due in the last quarter of its interval. What is asked together stays together.
 *
 * Invariants, whatever tenants write:
 * - A view waits at most 2 s, or until the first answer. See {@link LookupWait}. While look-ups fail it does not wait.
 * - There are two requests a second in the long run. n names cost about n requests until all are answered. Some hours
 *   later they cost n / 100 an hour on average, and in no hour more than n / 20 + 20.
 * - Namespaces take turns. Names that no Node has are at most {@link MAX_UNKNOWN}. If there are more, the Namespace
 *   with the most gives way.
 */
export class NodeLookups {
  readonly #options: NodeLookupsOptions;
  readonly #lookups = new Map<string, Lookup>();
  /** Names that no Node is known to have, by Namespace. */
  readonly #unknown = new Map<string, Set<Lookup>>();
  #unknownCount = 0;
  readonly #random: () => number;
  readonly #rounds: TokenBucket;
  readonly #wait: LookupWait;
  /** Makes intervals up to a quarter shorter, so that the nodes of a zone do not all ask at once. */
  readonly #pace: number;
  /** A round is under way, or its answer is being used. */
  #isBusy = false;
  #isClosed = false;
  /** The timer of the next round is set for a new name. */
  #isArmed = false;
  #failures = 0;
  #retryAt = 0;
  #error: string | undefined;
  /** What earlier look-ups have found. */
  #remembered: ReadonlyMap<string, string> = new Map();
  #cancelRound: () => void = () => undefined;

  constructor(options: NodeLookupsOptions) {
    this.#options = options;
    const { finder, random = Math.random } = options;
    this.#rounds = new TokenBucket({ ...ROUNDS, now: () => finder.clock.now() });
    this.#wait = new LookupWait(finder.clock, () => options.onNodes([]));
    this.#random = random;
    this.#pace = 1 - random() / 4;
  }

  /** The zone of a Node by its label, empty if it has none; undefined: the Node is not known to exist. */
  zoneOf(node: string): string | undefined {
    const { known } = this.#options.finder;
    return known === undefined ? this.#lookups.get(node)?.zone : known.get(node);
  }

  /** Whether a Node exists, and is not in the zone of this node. */
  isElsewhere(node: string): boolean {
    const zone = this.zoneOf(node);
    return zone !== undefined && zone !== this.#options.ownZone();
  }

  /** Why it is not known whether a Node exists; undefined: it is known. */
  problemOf(node: string): string | undefined {
    const lookup = this.#lookups.get(node);
    if (this.#options.finder.known !== undefined || !isSubdomain(node)) return undefined;
    if (lookup === undefined) return 'it was not looked up';
    return lookup.isAnswered ? undefined : (this.#error ?? 'it is being looked up');
  }

  /** Whether a view that could start otherwise has to wait. When its wait is over, `onNodes` is called. */
  mustWait(view: object): boolean {
    if (this.#error !== undefined || ![...this.#lookups.values()].some(isOpen)) return false;
    return this.#wait.mustWait(view);
  }

  /**
   * A Service of this Namespace needs a Node. It is looked up a moment later, together with others. Returns whether
   * there is room: a name that no Node can have needs none.
   *
   * @param mayAdd false: there was no room for another Node of the same Service, so there is none for a new name
   */
  request(node: string, namespace: string, mayAdd = true): boolean {
    const requested = this.#lookups.get(node);
    if (requested !== undefined) this.#need(requested);
    const isKnown = requested !== undefined || this.#options.finder.known !== undefined;
    if (isKnown) return true;
    if (!mayAdd) return false;
    if (!isSubdomain(node)) return true;
    if (this.#unknownCount >= MAX_UNKNOWN && !this.#makeRoom(namespace)) return false;
    const lookup: Lookup = {
      node,
      namespace,
      // Otherwise there is an answer soon.
      zone: this.#error === undefined ? undefined : this.#remembered.get(node),
      isAnswered: false,
      isElsewhere: false,
      isByName: !isLabelValue(node),
      unneeded: 0,
      intervalMs: AGAIN.firstMs / 2,
      dueAt: this.#now,
    };
    this.#lookups.set(node, lookup);
    this.#setUnknown(lookup, true);
    this.#armOnce();
    return true;
  }

  /** A Node that was elsewhere, and would be in the new zone of this node, was relabelled: the node set lacks it. */
  #need(lookup: Lookup): void {
    lookup.unneeded = 0;
    if (!lookup.isElsewhere || this.isElsewhere(lookup.node)) return;
    lookup.isElsewhere = false;
    lookup.dueAt = this.#now;
    this.#armOnce();
  }

  /** Drops the look-ups of nodes that entered or left the node set of the zone: the set is newer than any answer. */
  forget(nodes: readonly string[]): void {
    for (const node of nodes) this.#drop(this.#lookups.get(node));
  }

  /** The answer to a request that is still open has no effect. */
  close(): void {
    this.#isClosed = true;
    this.#cancelRound();
    this.#wait.close();
  }

  get #now(): number {
    return this.#options.finder.clock.now();
  }

  /** As {@link #arm}, if that was not done for another new name. */
  #armOnce(): void {
    if (this.#isArmed || this.#isBusy) return;
    this.#arm();
    this.#isArmed = true;
  }

  /** Sets the timer of the next round: when any name is due, and a round is allowed. */
  #arm(): void {
    if (this.#isBusy || this.#isClosed) return;
    this.#cancelRound();
    if (this.#lookups.size === 0) return;
    let dueAt = Number.POSITIVE_INFINITY;
    for (const lookup of this.#lookups.values()) dueAt = Math.min(dueAt, lookup.dueAt);
    const waitMs = Math.max(dueAt - this.#now, this.#retryAt - this.#now, this.#rounds.waitMs);
    this.#cancelRound = this.#options.finder.clock.after(waitMs, () => this.#ask());
  }

  #ask(): void {
    this.#isArmed = false;
    const { names, together } = this.#nextRound();
    if (names.length + together.length === 0) {
      this.#arm();
      return;
    }
    const { finder, version } = this.#options;
    const request = {
      names: names.map(nameOf),
      hostnames: together.map(nameOf),
      version: version(),
    };
    this.#isBusy = true;
    finder.find(request, (found) => this.#onFound(names, together, found));
  }

  #nextRound(): { readonly names: readonly Lookup[]; readonly together: readonly Lookup[] } {
    const now = this.#now;
    const all = [...this.#lookups.values()];
    if (!all.some(({ dueAt }) => dueAt <= now)) return { names: [], together: [] };
    const isSoon = ({ dueAt, intervalMs, isByName }: Lookup): boolean =>
      dueAt - (isByName ? 0 : intervalMs / 4) <= now;
    const inTurn = byTurns(all.filter(isSoon), this.#random);
    const few = this.#failures === 0 ? FEW : 1;
    const together = inTurn.filter(({ isByName }) => !isByName).slice(0, MOST_NAMES);
    if (together.length <= FEW) return { names: inTurn.slice(0, few), together: [] };
    return { names: inTurn.filter(({ isByName }) => isByName).slice(0, few), together };
  }

  #onFound(names: readonly Lookup[], together: readonly Lookup[], found: FoundNodes): void {
    if (this.#isClosed) return;
    this.#wait.answered();
    const remembered = this.#remember(found.remembered ?? this.#remembered);
    if (!('error' in found && found.isUnasked === true)) this.#rounds.take();
    if ('error' in found) this.#onFailed(found.error, found.isUnasked);
    const answered = 'error' in found ? [] : this.#onZones(names, together, found.zones);
    this.#options.onNodes([...remembered, ...answered].map(nameOf));
    for (const lookup of answered) if (lookup.unneeded >= UNNEEDED) this.#drop(lookup);
    this.#isBusy = false;
    this.#arm();
  }

  #onFailed(error: string, isUnasked = false): void {
    this.#error = error;
    const factor = isUnasked ? 1 : 2 ** this.#failures++;
    this.#retryAt = this.#now + Math.min(FAILED.firstMs * factor, FAILED.maxMs);
  }

  /**
   * Returns those whose Services must be decided again: they count as elsewhere now and did not, or the reverse; or
   * they had an answer before. Deciding shows whether a Service still needs these.
   */
  #onZones(
    names: readonly Lookup[],
    together: readonly Lookup[],
    zones: ReadonlyMap<string, string>,
  ): readonly Lookup[] {
    this.#error = undefined;
    this.#failures = 0;
    return [...names, ...together].filter((lookup) => {
      const { node, isAnswered } = lookup;
      // It was forgotten meanwhile, and perhaps requested again.
      if (this.#lookups.get(node) !== lookup) return false;
      const zone = zones.get(node);
      const mayExist = !isAnswered || lookup.zone !== undefined;
      if (zone === undefined && mayExist && !names.includes(lookup)) {
        lookup.isByName = true;
        lookup.dueAt = this.#now;
        return false;
      }
      if (isAnswered) lookup.unneeded++;
      return this.#answer(lookup, zone) || isAnswered;
    });
  }

  /** Stores an answer. Returns whether it changes where the Node is: elsewhere or not. */
  #answer(lookup: Lookup, zone: string | undefined): boolean {
    const before = this.isElsewhere(lookup.node);
    lookup.zone = zone;
    lookup.isAnswered = true;
    // By name, it is known by now that it does not exist.
    if (zone === undefined) lookup.isByName = !isLabelValue(lookup.node);
    lookup.isElsewhere = this.isElsewhere(lookup.node);
    this.#setUnknown(lookup, zone === undefined);
    lookup.intervalMs = Math.min(2 * lookup.intervalMs, AGAIN.maxMs);
    const delayMs = lookup.isByName
      ? AGAIN.byNameMs * (1 - this.#random() / 4)
      : lookup.intervalMs * this.#pace;
    lookup.dueAt = this.#now + delayMs;
    return before !== lookup.isElsewhere;
  }

  /** Returns those that count as elsewhere by that and did not, or the reverse. Those with an answer do not change. */
  #remember(remembered: ReadonlyMap<string, string>): readonly Lookup[] {
    this.#remembered = remembered;
    const open = [...this.#lookups.values()].filter(isOpen);
    return open.filter((lookup) => {
      const before = this.isElsewhere(lookup.node);
      lookup.zone = remembered.get(lookup.node);
      return this.isElsewhere(lookup.node) !== before;
    });
  }

  /** Drops a name of the Namespace with the most, if that has more than this one will have. */
  #makeRoom(namespace: string): boolean {
    const own = this.#unknown.get(namespace)?.size ?? 0;
    const largest = [...this.#unknown.values()].reduce((a, b) => (b.size > a.size ? b : a));
    if (largest.size <= own + 1) return false;
    const [first] = largest;
    this.#drop(first);
    return true;
  }

  #drop(lookup: Lookup | undefined): void {
    if (lookup === undefined || this.#lookups.get(lookup.node) !== lookup) return;
    this.#setUnknown(lookup, false);
    this.#lookups.delete(lookup.node);
  }

  #setUnknown(lookup: Lookup, isUnknown: boolean): void {
    const { namespace } = lookup;
    const own = this.#unknown.get(namespace) ?? new Set();
    if (own.has(lookup) === isUnknown) return;
    if (isUnknown) own.add(lookup);
    else own.delete(lookup);
    this.#unknownCount += isUnknown ? 1 : -1;
    if (own.size === 0) this.#unknown.delete(namespace);
    else this.#unknown.set(namespace, own);
  }
}

/**
 * The first of each Namespace come before the second ones, so that none has to wait for all names of another. Which
 * Namespace is first is left to chance: with more of them than names in a request, none is always last. In each
 * Namespace, those that have an answer come last.
 */
function byTurns(lookups: readonly Lookup[], random: () => number): readonly Lookup[] {
  const inOrder = [...lookups.filter(isOpen), ...lookups.filter((lookup) => !isOpen(lookup))];
  const queues = [...Map.groupBy(inOrder, ({ namespace }) => namespace).values()];
  const shuffled = queues.map((queue) => ({ queue, at: random() })).sort((a, b) => a.at - b.at);
  const inTurn: Lookup[] = [];
  for (let turn = 0; inTurn.length < lookups.length; turn++) {
    for (const { queue } of shuffled) {
      const next = queue[turn];
      if (next !== undefined) inTurn.push(next);
    }
  }
  return inTurn;
}

/** Whether a look-up has no answer yet. */
function isOpen({ isAnswered }: Lookup): boolean {
  return !isAnswered;
}

function nameOf({ node }: Lookup): string {
  return node;
}
