import type { Clock } from '../../util/clock.ts';
import { TokenBucket } from '../../util/token-bucket.ts';
import { isLabelValue, isSubdomain } from '../policy/label.ts';

/**
 * What a look-up has found: the zone label of each Node that exists, empty if it has none; or why nothing is known, and
 * what earlier look-ups have found, also of other processes.
 */
export type FoundNodes = { readonly zones: ReadonlyMap<string, string> } | FailedLookup;

interface FailedLookup {
  readonly error: string;
  readonly remembered?: ReadonlyMap<string, string> | undefined;
}

export interface NodeRequest {
  readonly names: readonly string[];
  /**
   * `name`: each of these few by its name; `hostname`: all of them in one request by their label
   * kubernetes.io/hostname, which need not be their name.
   */
  readonly by: 'name' | 'hostname';
  /** The resourceVersion that the answer must have reached; empty: the newest. */
  readonly version: string;
}

/** Looks up Nodes, because the topology does no I/O. */
export interface NodeFinder {
  readonly clock: Clock;
  /** The zones of all Nodes, empty if a Node has none; default: they are not known, and Nodes are looked up. */
  readonly known?: ReadonlyMap<string, string>;
  /** Looks up Nodes, and calls `done` once. */
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
  /** `requested`: no answer yet; `failed`: it is requested again. */
  state: 'requested' | 'failed' | 'answered';
  /** Its zone was another one than the zone of this node. */
  isElsewhere: boolean;
  /** Its label kubernetes.io/hostname is not its name. */
  isByName: boolean;
  /** Whether a Service has needed it since it was last asked. */
  isNeeded: boolean;
  intervalMs: number;
  dueAt: number;
}

/** So many are looked up by name; more of them together by hostname. */
const FEW = 4;
/** Names in one request: about 5 KB. */
const MOST_NAMES = 100;
/** At most so many names that no Node is known to have: tenants invent them. Nodes that exist do not count. */
const MAX_UNKNOWN = 4096;
/** Requests at once, and two a second in the long run, as of a reflector. */
const REQUESTS = { burst: 32, refillMs: 500 };
/** When a Node is looked up again, because it may be created or deleted: each time twice as late, in milliseconds. */
const AGAIN = { firstMs: 1_000, maxMs: 600_000, elsewhereMs: 3_600_000 };
/** After a failure, each time twice as late, in milliseconds. */
const FAILED = { firstMs: 1_000, maxMs: 30_000 };

/**
 * The Nodes that the field `zone` of an endpoint puts into this node's zone, and that are not in the node set of the
 * zone. The field may be old, because the control plane does not write it again when a Node is relabelled. So each of
 * these Nodes is looked up: one that exists is {@link isElsewhere}. If the look-up fails, what an earlier one has found
 * applies. In all other cases the field does: there is no such Node, there is no answer yet, or nothing is remembered.
 *
 * ```text
 *            request()          answer                        due
 *   absent ──────────▶ requested ─────▶ answered ─────▶ looked up again after 1 s, 2 s … 10 min, or an hour if it is
 *                          │ ▲                           elsewhere; absent if no Service needs it any more
 *                          ▼ │ due
 *                         failed
 *   any of them: forget(), because the node entered or left the zone's node set ──▶ absent
 * ```
 *
 * Invariants: one request at a time, and two a second in the long run, whatever tenants write. Namespaces take turns.
 * Names that no Node has are at most {@link MAX_UNKNOWN}. If there are more, the Namespace with the most gives way.
 */
export class NodeLookups {
  readonly #options: NodeLookupsOptions;
  readonly #lookups = new Map<string, Lookup>();
  /** Names that no Node is known to have, by Namespace. */
  readonly #unknown = new Map<string, Set<Lookup>>();
  #unknownCount = 0;
  readonly #bucket: TokenBucket;
  /** Names were requested since the last request. */
  #isFresh = false;
  /** A request is open, or Services are being decided for the next one. */
  #isBusy = false;
  #isClosed = false;
  #failures = 0;
  #retryAt = 0;
  #error: string | undefined;
  /** What counts until there is an answer. */
  #remembered: ReadonlyMap<string, string> = new Map();
  #cancelTimer: () => void = () => undefined;

  constructor(options: NodeLookupsOptions) {
    this.#options = options;
    const { clock } = options.finder;
    this.#bucket = new TokenBucket({ ...REQUESTS, now: () => clock.now() });
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
    return lookup.state === 'answered' ? undefined : (this.#error ?? 'it is being looked up');
  }

  /** Whether any look-up has neither been answered nor failed. Views start when none has. */
  get isWaiting(): boolean {
    return [...this.#lookups.values()].some(({ state }) => state === 'requested');
  }

  /**
   * A Service of this Namespace needs a Node. Call {@link send} after all of them. Returns whether there is room: a
   * name that no Node can have needs none.
   */
  request(node: string, namespace: string): boolean {
    const requested = this.#lookups.get(node);
    if (requested !== undefined) this.#need(requested);
    const isKnown = requested !== undefined || this.#options.finder.known !== undefined;
    if (isKnown || !isSubdomain(node)) return true;
    if (this.#unknownCount >= MAX_UNKNOWN && !this.#makeRoom(namespace)) return false;
    const lookup: Lookup = {
      node,
      namespace,
      zone: this.#remembered.get(node),
      state: 'requested',
      isElsewhere: false,
      isByName: !isLabelValue(node),
      isNeeded: true,
      intervalMs: AGAIN.firstMs / 2,
      dueAt: this.#now,
    };
    this.#lookups.set(node, lookup);
    this.#setUnknown(lookup, true);
    this.#isFresh = true;
    return true;
  }

  /** A Node that was elsewhere, and would be in the new zone of this node, was relabelled: the node set lacks it. */
  #need(lookup: Lookup): void {
    lookup.isNeeded = true;
    if (!lookup.isElsewhere || this.isElsewhere(lookup.node)) return;
    lookup.isElsewhere = false;
    lookup.dueAt = this.#now;
    this.#isFresh = true;
  }

  /**
   * Sends the look-ups that were requested, or fails them until a request may be sent. Repeated look-ups wait for their
   * timer: to find out whether they are needed, Services are decided, and the caller is deciding one already.
   */
  send(): void {
    if (this.#isFresh) this.#run(({ state }) => state === 'requested');
  }

  /** Drops the look-ups of nodes that entered or left the node set of the zone: the set is newer than any answer. */
  forget(nodes: readonly string[]): void {
    for (const node of nodes) this.#drop(this.#lookups.get(node));
  }

  /** The answer to a request that is still open has no effect. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTimer();
  }

  get #now(): number {
    return this.#options.finder.clock.now();
  }

  /** @param isWanted which of the look-ups that are due are sent; default: all of them */
  #run(isWanted: (lookup: Lookup) => boolean = () => true): void {
    if (this.#isBusy || this.#isClosed) return;
    this.#cancelTimer();
    this.#isFresh = false;
    const now = this.#now;
    const due = [...this.#lookups.values()].filter((each) => each.dueAt <= now && isWanted(each));
    const waitMs = Math.max(this.#retryAt - now, this.#bucket.waitMs);
    if (waitMs > 0) this.#fail(due);
    else this.#ask(this.#needed(due));
    if (!this.#isBusy) this.#runLater(waitMs);
  }

  /** Runs when the next look-up is due. @param waitMs until a request may be sent, in milliseconds */
  #runLater(waitMs: number): void {
    if (this.#lookups.size === 0) return;
    let dueAt = Number.POSITIVE_INFINITY;
    for (const lookup of this.#lookups.values()) dueAt = Math.min(dueAt, lookup.dueAt);
    const { clock } = this.#options.finder;
    this.#cancelTimer();
    this.#cancelTimer = clock.after(Math.max(waitMs, dueAt - this.#now), () => this.#run());
  }

  #ask(due: readonly Lookup[]): void {
    if (due.length === 0) return;
    const inTurn = byTurns(due);
    const together = inTurn.filter(({ isByName }) => !isByName).slice(0, MOST_NAMES);
    const isUrgent = together.some(isOpen) || !due.some(isOpen);
    const by = together.length > FEW && isUrgent ? 'hostname' : 'name';
    let sent = together;
    // One request for each name; there is a token for the first one.
    if (by === 'name') sent = inTurn.slice(0, FEW).filter(() => this.#bucket.take() === 0);
    else this.#bucket.take();
    const { finder, version } = this.#options;
    const request = { names: sent.map(({ node }) => node), by, version: version() } as const;
    this.#isBusy = true;
    finder.find(request, (found) => this.#onFound(sent, by, found));
  }

  #onFound(sent: readonly Lookup[], by: 'name' | 'hostname', found: FoundNodes): void {
    this.#isBusy = false;
    if (this.#isClosed) return;
    const changed = 'error' in found ? this.#onFailed(found) : this.#onZones(sent, by, found.zones);
    this.#options.onNodes(changed);
    this.#run();
  }

  /** Returns the Nodes that count as elsewhere now and did not, or the reverse. */
  #onFailed({ error, remembered = this.#remembered }: FailedLookup): string[] {
    this.#error = error;
    const changed = this.#remember(remembered);
    this.#fail([...this.#lookups.values()]);
    this.#retryAt = this.#now + Math.min(FAILED.firstMs * 2 ** this.#failures++, FAILED.maxMs);
    return changed;
  }

  /** Returns the same. */
  #onZones(
    sent: readonly Lookup[],
    by: 'name' | 'hostname',
    zones: ReadonlyMap<string, string>,
  ): string[] {
    this.#error = undefined;
    this.#failures = 0;
    const changed: string[] = [];
    for (const lookup of sent) {
      const { node } = lookup;
      // It was forgotten meanwhile, and perhaps requested again.
      if (this.#lookups.get(node) !== lookup) continue;
      const zone = zones.get(node);
      const mayExist = lookup.state !== 'answered' || lookup.zone !== undefined;
      if (zone === undefined && by === 'hostname' && mayExist) lookup.isByName = true;
      else if (this.#answer(lookup, zone)) changed.push(node);
    }
    return changed;
  }

  /** Stores an answer. Returns whether it changes where the Node is: elsewhere or not. */
  #answer(lookup: Lookup, zone: string | undefined): boolean {
    const { random = Math.random } = this.#options;
    const before = this.isElsewhere(lookup.node);
    lookup.zone = zone;
    lookup.state = 'answered';
    lookup.isByName = !isLabelValue(lookup.node);
    lookup.isElsewhere = this.isElsewhere(lookup.node);
    this.#setUnknown(lookup, zone === undefined);
    const maxMs = lookup.isElsewhere ? AGAIN.elsewhereMs : AGAIN.maxMs;
    lookup.intervalMs = Math.min(2 * lookup.intervalMs, maxMs);
    // Spread, so that the nodes of a zone do not all ask at once.
    lookup.dueAt = this.#now + lookup.intervalMs * (1 - random() / 4);
    return before !== lookup.isElsewhere;
  }

  /** Uses what is remembered for Nodes without an answer. Returns those for which that changes where they are. */
  #remember(remembered: ReadonlyMap<string, string>): string[] {
    this.#remembered = remembered;
    const open = [...this.#lookups.values()].filter(({ state }) => state !== 'answered');
    const changed = open.filter((lookup) => {
      const before = this.isElsewhere(lookup.node);
      lookup.zone = remembered.get(lookup.node);
      return this.isElsewhere(lookup.node) !== before;
    });
    return changed.map(({ node }) => node);
  }

  /** Until these are answered, what is remembered of them applies, or else the field. */
  #fail(lookups: readonly Lookup[]): void {
    for (const lookup of lookups) if (lookup.state === 'requested') lookup.state = 'failed';
  }

  /** Returns the look-ups that Services still need, and drops the others. Deciding them shows which are needed. */
  #needed(due: readonly Lookup[]): readonly Lookup[] {
    const again = due.filter(({ state }) => state !== 'requested');
    if (again.length === 0) return due;
    for (const lookup of again) lookup.isNeeded = false;
    this.#isBusy = true;
    this.#options.onNodes(again.map(({ node }) => node));
    this.#isBusy = false;
    for (const lookup of again) if (!lookup.isNeeded) this.#drop(lookup);
    return due.filter((lookup) => this.#lookups.get(lookup.node) === lookup);
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
    if (lookup === undefined) return;
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
 * The first of each Namespace come before the second ones, so that none has to wait for all names of another. In each
 * Namespace, those that are looked up again come last.
 */
function byTurns(lookups: readonly Lookup[]): readonly Lookup[] {
  const inOrder = [...lookups.filter(isOpen), ...lookups.filter((lookup) => !isOpen(lookup))];
  const queues = [...Map.groupBy(inOrder, ({ namespace }) => namespace).values()];
  if (queues.length === 1) return inOrder;
  const inTurn: Lookup[] = [];
  for (let turn = 0; inTurn.length < lookups.length; turn++) {
    for (const queue of queues) {
      const next = queue[turn];
      if (next !== undefined) inTurn.push(next);
    }
  }
  return inTurn;
}

/** Whether a look-up has no answer yet. */
function isOpen({ state }: Lookup): boolean {
  return state !== 'answered';
}
