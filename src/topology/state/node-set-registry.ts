import {
  NodeSet,
  type NodeSetOwner,
  type NodeSetState,
  type NodeSetWatcher,
  type NodeWatch,
} from './node-set.ts';

/** Default of the setting `maxNodeSets`. */
export const DEFAULT_MAX_NODE_SETS = 64;

export interface NodeSetRegistryOptions<Watch extends NodeWatch> {
  /** How many sets may be watched; default {@link DEFAULT_MAX_NODE_SETS}. */
  readonly max?: number;
  readonly watcher: NodeSetWatcher<Watch>;
  /** These nodes entered or left a set. */
  readonly onMoved: (set: NodeSet, nodes: readonly string[]) => void;
  /** A set is complete, or refused; `affectsUsers`: all Services that need it must be decided again. */
  readonly onState: (set: NodeSet, affectsUsers: boolean) => void;
  /** A set is closed that no policy has needed for a while. */
  readonly onClosed: () => void;
}

/**
 * The node sets of this node, by label selector: which of them are watched.
 *
 * ```text
 *            needed, room              list            403
 *   absent ───────────────▶ syncing ─────────▶ synced ─────▶ synced, with its last members
 *     │ needed, no room    ▲ │   │ 403: refused, until a list succeeds
 *     ▼               room │ ▼ others come first
 *   overLimit ◀────────────┴─────────────── syncing, synced, refused
 *     └─ not needed ──▶ absent
 *
 *   syncing, synced, refused: not needed ──▶ lingers ──▶ absent, after a while or to make room
 *                                               └─ needed again: unchanged, without a new list
 * ```
 *
 * Invariant: at most `max` sets are watched, including those that linger: the needed sets that come first. Sets that
 * linger make room for others, the oldest first.
 */
export class NodeSetRegistry<Watch extends NodeWatch = NodeWatch> {
  /** How many sets may be watched. */
  readonly max: number;
  readonly #watcher: NodeSetWatcher<Watch>;
  readonly #owner: NodeSetOwner;
  readonly #sets = new Map<string, NodeSet<Watch>>();
  /** Sets that are watched though no policy needs them, the oldest first. */
  readonly #lingering = new Set<string>();
  /** As in {@link withoutRoom}. */
  readonly #withoutRoom = new Set<string>();
  /** Watches that end. */
  readonly #closing = new Set<Promise<void>>();
  #isClosed = false;

  constructor({ max, watcher, onMoved, onState, onClosed }: NodeSetRegistryOptions<Watch>) {
    this.max = max ?? DEFAULT_MAX_NODE_SETS;
    this.#watcher = watcher;
    this.#owner = {
      onMoved,
      onState: (set, before) => onState(set, this.#affectsUsers(set, before)),
      onUnused: ({ selector }) => {
        this.#drop(selector);
        onClosed();
      },
    };
  }

  /** All node sets, by selector. */
  get all(): ReadonlyMap<string, NodeSet<Watch>> {
    return this.#sets;
  }

  /**
   * Opens the first of the needed sets that are missing, as far as there is room. Lets sets linger that are no longer
   * needed.
   *
   * @param selectors the needed sets, those that come first before others; each one once
   * @returns whether anything changed
   */
  want(selectors: readonly string[]): boolean {
    if (this.#isClosed) return false;
    const needed = new Set(selectors);
    let changed = false;
    for (const set of this.#sets.values()) {
      if (!set.needed || needed.has(set.selector)) continue;
      this.#release(set);
      changed = true;
    }
    const withRoom = selectors.slice(0, this.max);
    // First those without room: the others may need theirs. None of the others may be closed to make room.
    for (const selector of selectors.slice(this.max))
      if (this.#refuseRoom(selector)) changed = true;
    for (const selector of withRoom) this.#lingering.delete(selector);
    for (const selector of withRoom) if (this.#need(selector)) changed = true;
    return changed;
  }

  /**
   * Sets without room, and those that have room again until their members are known. Policies that need one of them do
   * not apply.
   */
  get withoutRoom(): ReadonlySet<string> {
    return this.#withoutRoom;
  }

  /** Whether policies that need these sets apply. */
  apply(selectors: readonly string[]): boolean {
    return !selectors.some((selector) => this.#withoutRoom.has(selector));
  }

  /** Whether there is nothing to wait for: policies that need these sets can be decided, or do not apply. */
  areSettled(selectors: Iterable<string>): boolean {
    for (const selector of selectors) {
      const { state = 'syncing' } = this.#sets.get(selector) ?? {};
      if (state === 'syncing' && !this.#withoutRoom.has(selector)) return false;
    }
    return true;
  }

  /** Whether a node is in any of these. */
  include(selectors: readonly string[], node: string): boolean {
    return selectors.some((selector) => this.#sets.get(selector)?.members.has(node));
  }

  /** Ends all watches and waits for them. No set is opened from now on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const set of this.#sets.values()) this.#close(set);
    await Promise.all(this.#closing);
  }

  /** A policy did not apply without room. Without the nodes of the zone, none was looked up. */
  #affectsUsers({ selector, state }: NodeSet, before: NodeSetState): boolean {
    const wasWithoutRoom = this.#withoutRoom.delete(selector);
    return wasWithoutRoom || (before === 'refused' && state === 'synced');
  }

  #release(set: NodeSet<Watch>): void {
    this.#withoutRoom.delete(set.selector);
    if (set.state === 'overLimit') {
      this.#sets.delete(set.selector);
      return;
    }
    this.#lingering.add(set.selector);
    set.release();
  }

  /** Returns whether the set changed. */
  #need(selector: string): boolean {
    const known = this.#sets.get(selector);
    if (known !== undefined && known.state !== 'overLimit') {
      if (known.needed) return false;
      known.need();
      return true;
    }
    this.#makeRoom();
    this.#add(selector);
    return true;
  }

  /** The set has no room. Returns whether it had, or was not needed. */
  #refuseRoom(selector: string): boolean {
    if (this.#sets.get(selector)?.state === 'overLimit') return false;
    this.#drop(selector);
    this.#withoutRoom.add(selector);
    this.#add(selector, `more node sets are needed than maxNodeSets (${this.max}) allows`);
    return true;
  }

  #add(selector: string, noRoom?: string): void {
    this.#sets.set(selector, new NodeSet(selector, this.#watcher, this.#owner, noRoom));
  }

  /** Closes the set that lingers longest if one more set would be too many. */
  #makeRoom(): void {
    const watched = [...this.#sets.values()].filter(({ state }) => state !== 'overLimit');
    if (watched.length < this.max) return;
    const [oldest = ''] = this.#lingering;
    this.#drop(oldest);
  }

  #drop(selector: string): void {
    const set = this.#sets.get(selector);
    this.#lingering.delete(selector);
    this.#sets.delete(selector);
    if (set !== undefined) this.#close(set);
  }

  #close(set: NodeSet<Watch>): void {
    const closing = set.close();
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }
}
