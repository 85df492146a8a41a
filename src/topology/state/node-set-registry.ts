import type { NodeSet } from './node-set.ts';

/** Default of the setting `maxNodeSets`. */
export const DEFAULT_MAX_NODE_SETS = 64;

/**
 * The node sets of this node, by label selector.
 *
 * ```text
 *            needed, room              list            403
 *   absent ───────────────▶ syncing ─────────▶ synced ─────▶ synced, with its last members
 *     │  ▲                   ▲   │ 403: refused, until a list succeeds
 *     │  │                   │
 *     │  │ not needed        │ room
 *     │  └────────────── overLimit
 *     │ needed, no room      ▲
 *     └──────────────────────┘
 *   syncing, synced, refused: not needed ──▶ lingers ──▶ absent, after a while or to make room
 *                                               └─ needed again: unchanged, without a new list
 * ```
 *
 * Invariant: at most `max` sets are watched, including those that linger. Sets that linger make room for others,
 * the oldest first; sets in use never do.
 */
export class NodeSetRegistry {
  readonly #max: number;
  readonly #sets = new Map<string, NodeSet>();
  /** Sets that are watched though no policy needs them, the oldest first. */
  readonly #lingering = new Set<string>();
  /** Sets that are needed but not watched, the oldest first. */
  readonly #overLimit = new Set<string>();

  constructor(max: number = DEFAULT_MAX_NODE_SETS) {
    this.#max = max;
  }

  /** All node sets, by selector. */
  get all(): ReadonlyMap<string, Readonly<NodeSet>> {
    return this.#sets;
  }

  /**
   * Opens the needed sets that are missing, as far as there is room. Lets sets linger that are no longer needed.
   * Returns whether anything changed.
   */
  want(selectors: ReadonlySet<string>): boolean {
    let changed = false;
    for (const set of this.#sets.values()) {
      if (!set.needed || selectors.has(set.selector)) continue;
      this.#release(set);
      changed = true;
    }
    for (const selector of selectors) if (this.#need(selector)) changed = true;
    return this.#openOverLimit() || changed;
  }

  /** Closes a set that lingers. Returns whether there was one. Then no set is over the limit: it had made room. */
  drop(selector: string): boolean {
    return this.#lingering.delete(selector) && this.#sets.delete(selector);
  }

  /** Whether decisions can rely on all of these: none is absent or still syncing. */
  areKnown(selectors: Iterable<string>): boolean {
    for (const selector of selectors) {
      const { state = 'syncing' } = this.#sets.get(selector) ?? {};
      if (state === 'syncing') return false;
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
  }

  #release(set: NodeSet): void {
    if (this.#overLimit.delete(set.selector)) {
      this.#sets.delete(set.selector);
      return;
    }
    set.needed = false;
    this.#lingering.add(set.selector);
  }

  /** Returns whether the set was not needed before. */
  #need(selector: string): boolean {
    const known = this.#sets.get(selector);
    if (known?.needed === true) return false;
    if (known !== undefined) {
      known.needed = true;
      this.#lingering.delete(selector);
      return true;
    }
    if (this.#makeRoom()) {
      this.#add(selector, 'syncing');
      return true;
    }
    const refusal = `more node sets are needed than maxNodeSets (${this.#max}) allows`;
    this.#add(selector, 'overLimit', refusal);
    this.#overLimit.add(selector);
    return true;
  }

  #add(selector: string, state: NodeSet['state'], refusal?: string): void {
    this.#sets.set(selector, { selector, state, needed: true, members: new Set(), refusal });
  }

  /** Opens sets that are over the limit, as far as there is room now, the oldest first. */
  #openOverLimit(): boolean {
    let opened = false;
    for (const selector of this.#overLimit) {
      if (!this.#makeRoom()) break;
      this.#overLimit.delete(selector);
      this.#add(selector, 'syncing');
      opened = true;
    }
    return opened;
  }

  /** Whether one more set may be watched. If necessary, closes the set that lingers longest. */
  #makeRoom(): boolean {
    if (this.#sets.size - this.#overLimit.size < this.#max) return true;
    const [oldest] = this.#lingering;
    if (oldest === undefined) return false;
    this.#lingering.delete(oldest);
    this.#sets.delete(oldest);
    return true;
  }
}
