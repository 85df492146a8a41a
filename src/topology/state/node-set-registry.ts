import { createNodeSet, type NodeSet } from './node-set.ts';

/** Node sets that are watched at once, unless the settings say otherwise. */
export const DEFAULT_MAX_NODE_SETS = 64;

/**
 * The node sets of this node, by label selector.
 *
 * ```text
 *            needed, room              list            403
 *   absent ───────────────▶ syncing ─────────▶ synced ─────▶ synced, with its last members
 *     │  ▲                   ▲   │ 403: refused, until a list comes
 *     │  │                   │
 *     │  │ not needed        │ room
 *     │  └────────────── overLimit
 *     │ needed, no room      ▲
 *     └──────────────────────┘
 *   syncing, synced, refused: not needed ──▶ lingers ──▶ absent, after a while or to make room
 *                                               └─ needed again: as it was, and nothing is listed
 * ```
 *
 * Invariant: at most `max` sets are watched, those that linger included. A set in use never makes room for
 * another one; sets that linger do, the oldest first.
 */
export class NodeSets {
  readonly #max: number;
  readonly #sets = new Map<string, NodeSet>();
  /** Sets that are watched and that no policy needs, the oldest first. */
  readonly #lingering = new Set<string>();
  /** Sets that are needed and not watched, the oldest first. */
  readonly #overLimit = new Set<string>();

  constructor(max: number = DEFAULT_MAX_NODE_SETS) {
    this.#max = max;
  }

  /** All of them. */
  get all(): ReadonlyMap<string, Readonly<NodeSet>> {
    return this.#sets;
  }

  /**
   * Takes in which sets are needed: opens those that are missing as far as there is room, and lets those that
   * are not needed any more linger. Returns whether that changed anything.
   */
  want(selectors: ReadonlySet<string>): boolean {
    let changed = false;
    for (const set of this.#sets.values()) {
      if (!set.needed || selectors.has(set.selector)) continue;
      this.#release(set);
      changed = true;
    }
    for (const selector of selectors) if (this.#need(selector)) changed = true;
    return this.#openWaiting() || changed;
  }

  /** Forgets a set that lingers; returns whether there was one. */
  drop(selector: string): boolean {
    if (!this.#lingering.delete(selector)) return false;
    this.#sets.delete(selector);
    this.#openWaiting();
    return true;
  }

  /** Whether all of these can be relied on: known, or known to be refused. */
  areKnown(selectors: Iterable<string>): boolean {
    for (const selector of selectors) {
      if (this.#sets.get(selector)?.state === 'syncing') return false;
    }
    return true;
  }

  /** Whether a node is in any of these. */
  include(selectors: readonly string[], node: string): boolean {
    return selectors.some((selector) => this.#sets.get(selector)?.members.has(node));
  }

  /** Notes nodes that entered and left; returns those for which that was news. */
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
   * Notes that a set is complete, or (with a message) refused. Once synced it keeps its members: an API
   * server that starts answers 403 until its RBAC has loaded.
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

  /** Returns whether that set was not needed before. */
  #need(selector: string): boolean {
    const known = this.#sets.get(selector);
    if (known?.needed === true) return false;
    if (known !== undefined) {
      known.needed = true;
      this.#lingering.delete(selector);
      return true;
    }
    const set = createNodeSet(selector);
    if (!this.#makeRoom()) {
      set.state = 'overLimit';
      set.refusal = `more node sets are needed than maxNodeSets (${this.#max}) allows`;
      this.#overLimit.add(selector);
    }
    this.#sets.set(selector, set);
    return true;
  }

  /** Opens sets that are over the limit as far as there is room now, the oldest first. */
  #openWaiting(): boolean {
    let opened = false;
    for (const selector of this.#overLimit) {
      if (!this.#makeRoom()) break;
      this.#overLimit.delete(selector);
      this.#sets.set(selector, createNodeSet(selector));
      opened = true;
    }
    return opened;
  }

  /** Whether one more set may be watched; if need be the set that lingers longest goes for it. */
  #makeRoom(): boolean {
    if (this.#sets.size - this.#overLimit.size < this.#max) return true;
    const [oldest] = this.#lingering;
    if (oldest === undefined) return false;
    this.#lingering.delete(oldest);
    this.#sets.delete(oldest);
    return true;
  }
}
