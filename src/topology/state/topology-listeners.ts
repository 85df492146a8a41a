import type { TopologyChange } from './topology-change.ts';

/**
 * Is called synchronously, after a change is active.
 *
 * A change has three phases, and each phase calls all listeners before the next one begins: hide Services, change
 * endpoints, show Services. kube-proxy may read between any two events. A visible Service without endpoints would
 * refuse connections, so a Service must disappear before its endpoints and appear after them.
 */
export interface TopologyListener {
  /** First phase: hide those of these Services that are hidden now; undefined: of all, because this node changed. */
  hiding?(services?: Iterable<string>): void;
  /** Second phase: something that decisions depend on changed. */
  changed?(change: TopologyChange): void;
  /** Third phase: show those of these Services that are visible now; undefined: of all. */
  showing?(services?: Iterable<string>): void;
}

/** Notifies the listeners of a topology, phase by phase. */
export class TopologyListeners {
  readonly #listeners = new Set<TopologyListener>();

  /** Calls a listener from now on. Returns a function that ends this. */
  add(listener: TopologyListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(change: TopologyChange): void {
    const services = change.ownNode === undefined ? change.services : undefined;
    for (const listener of this.#listeners) listener.hiding?.(services);
    for (const listener of this.#listeners) listener.changed?.(change);
    for (const listener of this.#listeners) listener.showing?.(services);
  }

  /** The visibility of these Services may have changed, and nothing else: there is no second phase. */
  visibility(services: Iterable<string>): void {
    for (const listener of this.#listeners) listener.hiding?.(services);
    for (const listener of this.#listeners) listener.showing?.(services);
  }
}
