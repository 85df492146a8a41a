import type { WorldChange } from './world-change.ts';

/**
 * Who wants to hear of the world; called synchronously, after the change is in force. A change is told as a whole, in
 * three turns: clients shall hear of a Service that goes before its endpoints do, and of one that comes after them.
 */
export interface WorldListener {
  /** First turn, for those who hide Services. */
  hiding?(change: WorldChange): void;
  /** Second turn: something a decision depends on changed. */
  changed?(change: WorldChange): void;
  /** Last turn, for those who show Services. */
  showing?(change: WorldChange): void;
  /** Node sets were opened, are not needed any more, or were forgotten; told with the selectors that are needed. */
  wanted?(selectors: ReadonlySet<string>): void;
}

/** Tells listeners of the world, each in its turn. */
export class WorldListeners {
  readonly #listeners = new Set<WorldListener>();
  /** Changes whose last turn is still to come; undefined: none is held up. */
  #held: WorldChange[] | undefined;

  /** Calls a listener from now on; returns how to end that. */
  add(listener: WorldListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(change: WorldChange): void {
    for (const listener of this.#listeners) listener.hiding?.(change);
    for (const listener of this.#listeners) listener.changed?.(change);
    if (this.#held === undefined) this.#show(change);
    else this.#held.push(change);
  }

  wanted(selectors: ReadonlySet<string>): void {
    for (const listener of this.#listeners) listener.wanted?.(selectors);
  }

  /** See World.hold; holding up does not nest. */
  hold(action: () => void): void {
    const held: WorldChange[] = [];
    this.#held = held;
    try {
      action();
    } finally {
      this.#held = undefined;
      for (const change of held) this.#show(change);
    }
  }

  #show(change: WorldChange): void {
    for (const listener of this.#listeners) listener.showing?.(change);
  }
}
