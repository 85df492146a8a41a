import type { NodeSet } from './node-set.ts';

/** Default of the setting `maxNodeSets`. */
export const DEFAULT_MAX_NODE_SETS = 64;

/**
 * The node sets of this node, by label selector.
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
 * Invariant: at most `max` sets are watched, including those that linger: the first ones that are needed. Sets that
 * linger make room for others, the oldest first.
 */
export class NodeSetRegistry {
  readonly #max: number;
  readonly #sets = new Map<string, NodeSet>();
  /** Sets that are watched though no policy needs them, the oldest first. */
  readonly #lingering = new Set<string>();
  /** As in {@link withoutRoom}. */
  readonly #withoutRoom = new Set<string>();

  constructor(max: number = DEFAULT_MAX_NODE_SETS) {
    this.#max = max;
  }

  /** All node sets, by selector. */
  get all(): ReadonlyMap<string, Readonly<NodeSet>> {
    return this.#sets;
  }

  /** How many sets may be watched. */
  get max(): number {
    return this.#max;
  }

  /**
   * Opens the first of the needed sets that are missing, as far as there is room. Lets sets linger that are no longer
   * needed.
   *
   * @param selectors the needed sets, those that come first before others; each one once
   * @returns whether anything changed
   */
  want(selectors: readonly string[]): boolean {
    const needed = new Set(selectors);
    let changed = false;
    for (const set of this.#sets.values()) {
      if (!set.needed || needed.has(set.selector)) continue;
      this.#release(set);
      changed = true;
    }
    const withRoom = selectors.slice(0, this.#max);
    // First those without room: the others may need theirs. None of the others may be closed to make room.
    for (const selector of selectors.slice(this.#max)) if (this.#withhold(selector)) changed = true;
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

  /** Closes a set that lingers. Returns whether there was one. */
  drop(selector: string): boolean {
    return this.#lingering.delete(selector) && this.#sets.delete(selector);
  }

  /** Whether there is nothing to wait for: policies that need these sets can be decided, or do not apply. */
  areKnown(selectors: Iterable<string>): boolean {
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

  /** Adds and removes members. Returns the nodes that were really added or removed. */
  move(selector: string, added: Iterable<string>, removed: Iterable<string>): string[] {
    const set = this.#sets.get(selector);
    const moved: string[] = [];
    if (set === undefined) return moved;
    for (const node of added) {
      if (set.members.has(node)) continue;
      set.members.add(node);
      moved.push(node);
    }
    for (const node of removed) if (set.members.delete(node)) moved.push(node);
    return moved;
  }

  /**
   * Marks a set as complete, or (with a message) as refused. A synced set keeps its members: an API server that
   * starts answers 403 until its RBAC has loaded.
   */
  setState(selector: string, refusal: string | undefined): void {
    const set = this.#sets.get(selector);
    if (set === undefined || set.state === 'overLimit') return;
    if (refusal === undefined) set.state = 'synced';
    else if (set.state === 'syncing') set.state = 'refused';
    set.refusal = refusal;
    this.#withoutRoom.delete(selector);
  }

  #release(set: NodeSet): void {
    set.needed = false;
    this.#withoutRoom.delete(set.selector);
    if (set.state === 'overLimit') this.#sets.delete(set.selector);
    else this.#lingering.add(set.selector);
  }

  /** Returns whether the set changed. */
  #need(selector: string): boolean {
    const known = this.#sets.get(selector);
    if (known !== undefined && known.state !== 'overLimit') {
      const wasNeeded = known.needed;
      known.needed = true;
      return !wasNeeded;
    }
    this.#makeRoom();
    this.#set(selector, 'syncing');
    return true;
  }

  /** The set has no room. Returns whether it had, or was not needed. */
  #withhold(selector: string): boolean {
    if (this.#sets.get(selector)?.state === 'overLimit') return false;
    const refusal = `more node sets are needed than maxNodeSets (${this.#max}) allows`;
    this.#lingering.delete(selector);
    this.#withoutRoom.add(selector);
    this.#set(selector, 'overLimit', refusal);
    return true;
  }

  #set(selector: string, state: NodeSet['state'], refusal?: string): void {
    this.#sets.set(selector, { selector, state, needed: true, members: new Set(), refusal });
  }

  /** Closes the set that lingers longest if one more set would be too many. */
  #makeRoom(): void {
    const watched = [...this.#sets.values()].filter(({ state }) => state !== 'overLimit');
    if (watched.length < this.#max) return;
    const [oldest = ''] = this.#lingering;
    this.#lingering.delete(oldest);
    this.#sets.delete(oldest);
  }
}
