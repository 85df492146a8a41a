import { createNodeSet, type NodeSet } from './node-set.ts';

/** The node sets that are wanted at the moment, by label selector. */
export class NodeSets {
  readonly #sets = new Map<string, NodeSet>();

  /** All of them. */
  get all(): ReadonlyMap<string, Readonly<NodeSet>> {
    return this.#sets;
  }

  /** Opens those that are missing and forgets all others. Returns whether that changed anything. */
  want(selectors: ReadonlySet<string>): boolean {
    let changed = false;
    for (const selector of this.#sets.keys()) {
      if (!selectors.has(selector)) changed = this.#sets.delete(selector);
    }
    for (const selector of selectors) {
      if (this.#sets.has(selector)) continue;
      this.#sets.set(selector, createNodeSet(selector));
      changed = true;
    }
    return changed;
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
    if (set === undefined) return;
    if (refusal === undefined) set.state = 'synced';
    else if (set.state === 'syncing') set.state = 'refused';
    set.refusal = refusal;
  }
}
