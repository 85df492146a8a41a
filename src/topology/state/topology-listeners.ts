import type { TopologyChange } from './topology-change.ts';

/**
 * Is notified of changes, synchronously, after they are in force. kube-proxy may look between any two events, so a
 * Service must go before its endpoints do, and come after them: a change is told in three turns, to all listeners in
 * each.
 */
export interface TopologyListener {
  /** First turn: hide those of these Services that are hidden now. */
  hiding?(services: Iterable<string>): void;
  /** Second turn: something a decision depends on changed. */
  changed?(change: TopologyChange): void;
  /** Last turn: show those of these Services that are not hidden any more. */
  showing?(services: Iterable<string>): void;
  /** Node sets were opened, are not needed any more, or were forgotten; told with the selectors that are needed. */
  wanted?(selectors: ReadonlySet<string>): void;
}

/** Notifies listeners of the world, each in its turn. */
export class TopologyListeners {
  readonly #listeners = new Set<TopologyListener>();

  /** Calls a listener from now on; returns how to end that. */
  add(listener: TopologyListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(change: TopologyChange): void {
    for (const listener of this.#listeners) listener.hiding?.(change.services);
    for (const listener of this.#listeners) listener.changed?.(change);
    for (const listener of this.#listeners) listener.showing?.(change.services);
  }

  /** Some Services may be hidden otherwise than before, though nothing else changed. */
  visibility(services: Iterable<string>): void {
    for (const listener of this.#listeners) listener.hiding?.(services);
    for (const listener of this.#listeners) listener.showing?.(services);
  }

  wanted(selectors: ReadonlySet<string>): void {
    for (const listener of this.#listeners) listener.wanted?.(selectors);
  }
}
