import {
  isOfOtherProxy,
  PROXY_NAME_LABEL,
  type ServiceFilter,
} from '../../topology/policy/service-policy.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { Change, ChangeHandler } from '../codec/change.ts';
import type { ObjectBytes, ServiceFacts } from '../codec/codec.ts';
import type { View } from '../view/view.ts';
import { DeletionsFirst } from './deletions-first.ts';

export interface ServicesProjectionOptions {
  readonly view: View;
  readonly topology: Topology;
  readonly serviceFilter: ServiceFilter | undefined;
  /** Wait for the view of slices that tells which Services are withheld. */
  readonly followsCloudOnly: boolean;
  /** Told about each change first: what the world learns has to be in force when clients hear of it. */
  readonly feed?: ChangeHandler<ServiceFacts> | undefined;
}

/**
 * Shows Services as they are, but for the resourceVersion, and hides those that another proxy serves, whose
 * traffic all goes to the cloud, or whose first policy waits. Every change of a Service that is shown is passed on.
 *
 * Invariant: each Service that exists is either in the view or set aside, and set aside are exactly those
 * that are hidden now.
 */
export class ServicesProjection implements ChangeHandler<ServiceFacts> {
  readonly view: View;
  readonly #options: ServicesProjectionOptions;
  readonly #departures: DeletionsFirst<ServiceFacts>;
  readonly #aside = new Map<string, ObjectBytes>();
  /** Services that the filter hides by their label, on a node that is not switched off. */
  readonly #filtered = new Set<string>();
  readonly #unsubscribe: () => void;
  /** What arrives before the view starts, hidden or not. */
  #initial: Map<string, ObjectBytes> | undefined = new Map();
  /**
   * Services that may be shown again when the changes at hand are all taken in; undefined: none are at hand. The
   * world that is told of a change answers at once, about objects that are not here yet.
   */
  #later: Set<string> | undefined;
  #synced = false;
  #off = false;

  constructor(options: ServicesProjectionOptions) {
    this.view = options.view;
    this.#departures = new DeletionsFirst(options.view);
    this.#options = options;
    const { topology } = options;
    this.#unsubscribe = topology.subscribe({
      hiding: (services) => this.#hide(services),
      showing: (services) => this.#showing(services),
    });
  }

  /** The object as the API server has it, but for the version, also when it is hidden. */
  find(key: string): ObjectBytes | undefined {
    return this.view.get(key) ?? this.#aside.get(key);
  }

  /** Stops listening to the world. */
  close(): void {
    this.#unsubscribe();
  }

  onChanges(changes: readonly Change<ServiceFacts>[]): void {
    this.#departures.onChanges(changes);
    this.#later = new Set();
    this.#options.feed?.onChanges(changes);
    for (const change of changes) {
      const { key } = change;
      if (change.type === 'DELETED') {
        this.#filtered.delete(key);
        this.#take(key, undefined);
      } else {
        if (this.#isOfOtherProxy(change.facts)) this.#filtered.add(key);
        else this.#filtered.delete(key);
        this.#take(key, change.object);
      }
    }
    const later = this.#later;
    this.#later = undefined;
    if (this.#initial !== undefined) {
      this.#tryStart();
      return;
    }
    this.#showAmong(later);
    this.view.log.commit();
  }

  onSynced(): void {
    this.#synced = true;
    this.#options.feed?.onSynced();
    this.#tryStart();
  }

  #isOfOtherProxy(facts: ServiceFacts): boolean {
    return isOfOtherProxy(facts, this.#options.serviceFilter);
  }

  /** Notes an object as it is now; undefined: it is gone. */
  #take(key: string, object: ObjectBytes | undefined): void {
    if (this.#initial !== undefined) {
      if (object === undefined) this.#initial.delete(key);
      else this.#initial.set(key, object);
      return;
    }
    this.#aside.delete(key);
    if (object === undefined) {
      this.view.delete(key);
    } else if (this.#isHidden(key)) {
      this.view.delete(key);
      this.#aside.set(key, object);
    } else {
      this.view.showAsIs(key, object);
    }
  }

  #showing(services: Iterable<string>): void {
    if (this.#initial !== undefined) {
      this.#tryStart();
      return;
    }
    const off = this.#options.topology.nodeContext?.off ?? false;
    const switched = off !== this.#off;
    this.#off = off;
    if (switched) {
      this.#hide(this.#filtered);
      this.#show(this.#aside.keys());
    }
    this.#show(this.#known(services));
  }

  /**
   * Those that are set aside, without those that the world does not know any more: of a Service that is gone nothing is
   * shown again, and this view may have yet to hear so. But one that the world does not ask for is still there.
   */
  #known(services: Iterable<string>): string[] {
    return [...services].filter((key) => {
      const object = this.#aside.get(key);
      if (object === undefined) return false;
      const policy = this.#options.topology.policyInForce(key);
      const isUnknown = policy?.managed === false && policy.reason === 'unknown-service';
      return !isUnknown || this.view.codec.service(object).labels.has(PROXY_NAME_LABEL);
    });
  }

  /** Hides those of these Services that are to be hidden now, at once: their endpoints may be next. */
  #hide(services: Iterable<string>): void {
    if (this.#initial !== undefined) return;
    const before = this.view.log.end;
    for (const key of services) {
      const shown = this.view.get(key);
      if (shown === undefined || !this.#isHidden(key)) continue;
      this.view.delete(key);
      this.#aside.set(key, shown);
    }
    if (this.view.log.end !== before) this.view.log.commit();
  }

  /** Shows those of these Services that are not to be hidden any more. */
  #show(services: Iterable<string>): void {
    if (this.#later !== undefined) {
      for (const key of services) this.#later.add(key);
    } else {
      const before = this.view.log.end;
      this.#showAmong(services);
      if (this.view.log.end !== before) this.view.log.commit();
    }
  }

  #showAmong(services: Iterable<string>): void {
    for (const key of services) {
      const aside = this.#aside.get(key);
      if (aside === undefined || this.#isHidden(key)) continue;
      this.#aside.delete(key);
      this.view.showAsIs(key, aside);
    }
  }

  #isHidden(key: string): boolean {
    return this.#options.topology.isHidden(key, this.#filtered.has(key));
  }

  #tryStart(): void {
    const { topology, followsCloudOnly } = this.#options;
    const initial = this.#initial;
    if (initial === undefined || this.#later !== undefined) return;
    if (!this.#synced || !topology.settled) return;
    if (followsCloudOnly && !topology.cloudOnly.known) return;
    this.#initial = undefined;
    this.#off = topology.nodeContext?.off ?? false;
    for (const [key, object] of initial) if (this.#isHidden(key)) this.#aside.set(key, object);
    this.view.startAsIs([...initial].filter(([key]) => !this.#aside.has(key)));
  }
}
