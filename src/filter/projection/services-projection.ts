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
  /** Whether to wait until the view of slices has reported which Services are left to the cloud. */
  readonly followsCloudOnly: boolean;
  /** Receives each change first: the policies must be in force before clients see the change. */
  readonly feed?: ChangeHandler<ServiceFacts>;
}

/** Services are stored; the list is not complete, or what decides about hiding them is not known yet. */
interface Starting {
  readonly kind: 'listing' | 'waiting';
  /** All Services, hidden or not. */
  readonly objects: Map<string, ObjectBytes>;
}

/** The view is open, and each change is shown. */
interface Serving {
  readonly kind: 'serving';
  /** Services that exist and are not in the view. */
  readonly hidden: Map<string, ObjectBytes>;
  /** Whether filtering is switched off on this node. */
  nodeOff: boolean;
}

/**
 * Shows Services unchanged except for the resourceVersion, and hides some of them: those that another proxy serves,
 * those whose traffic all goes to the cloud, and those whose first policy is pending. Passes on every change of a
 * Service that is shown.
 *
 *     listing ──onSynced()──▶ waiting ──topology settled, cloud-only Services known──▶ serving
 *
 * While serving, each Service is in one of two places:
 *
 *     shown (in the view) ──isHidden──▶ hidden ──no longer isHidden──▶ shown
 *
 * Invariant: while serving, `hidden` has exactly the Services that exist and that the topology hides.
 */
export class ServicesProjection implements ChangeHandler<ServiceFacts> {
  readonly view: View;
  readonly #options: ServicesProjectionOptions;
  readonly #deletionsFirst: DeletionsFirst<ServiceFacts>;
  /** Services that the settings leave to another proxy, by their labels. */
  readonly #ofOtherProxy = new Set<string>();
  readonly #unsubscribe: () => void;
  #state: Starting | Serving = { kind: 'listing', objects: new Map() };

  constructor(options: ServicesProjectionOptions) {
    this.view = options.view;
    this.#deletionsFirst = new DeletionsFirst(options.view);
    this.#options = options;
    this.#unsubscribe = options.topology.subscribe({
      hiding: (services) => this.#hide(services),
      showing: (services) => this.#topologyChanged(services),
    });
  }

  /** The object as the API server has it, except for the version, also when it is hidden or the view is not open yet. */
  find(key: string): ObjectBytes | undefined {
    const state = this.#state;
    const beside = state.kind === 'serving' ? state.hidden : state.objects;
    return beside.get(key) ?? this.view.get(key);
  }

  /** Unsubscribes from the topology. */
  close(): void {
    this.#unsubscribe();
  }

  onChanges(changes: readonly Change<ServiceFacts>[]): void {
    if (this.#state.kind !== 'serving') {
      this.#collect(changes, this.#state.objects);
      this.#options.feed?.onChanges(changes);
      return;
    }
    this.#deletionsFirst.onChanges(changes);
    // The feed makes the topology show Services again. It must not show the old state of these.
    for (const { key } of changes) this.#state.hidden.delete(key);
    this.#options.feed?.onChanges(changes);
    for (const change of changes) this.#apply(change, this.#state);
    this.view.log.commit();
  }

  onSynced(): void {
    const state = this.#state;
    if (state.kind === 'listing') this.#state = { kind: 'waiting', objects: state.objects };
    this.#options.feed?.onSynced();
    this.#tryStart();
  }

  #collect(changes: readonly Change<ServiceFacts>[], objects: Map<string, ObjectBytes>): void {
    for (const change of changes) {
      this.#noteProxy(change);
      if (change.type === 'DELETED') objects.delete(change.key);
      else objects.set(change.key, change.object);
    }
  }

  #apply(change: Change<ServiceFacts>, { hidden }: Serving): void {
    const { key } = change;
    this.#noteProxy(change);
    hidden.delete(key);
    if (change.type === 'DELETED') {
      this.view.delete(key);
    } else if (this.#isHidden(key)) {
      this.view.delete(key);
      hidden.set(key, change.object);
    } else {
      this.view.setUnchanged(key, change.object);
    }
  }

  #noteProxy(change: Change<ServiceFacts>): void {
    const { serviceFilter } = this.#options;
    if (change.type !== 'DELETED' && isOfOtherProxy(change.facts, serviceFilter)) {
      this.#ofOtherProxy.add(change.key);
    } else {
      this.#ofOtherProxy.delete(change.key);
    }
  }

  /** Hides those of these Services that must be hidden now. Commits, because their endpoints may go next. */
  #hide(services: Iterable<string>): void {
    if (this.#state.kind !== 'serving') return;
    const before = this.view.log.end;
    for (const key of services) {
      const object = this.view.get(key);
      if (object === undefined || !this.#isHidden(key)) continue;
      this.view.delete(key);
      this.#state.hidden.set(key, object);
    }
    if (this.view.log.end !== before) this.view.log.commit();
  }

  #topologyChanged(services: Iterable<string>): void {
    const state = this.#state;
    if (state.kind !== 'serving') {
      this.#tryStart();
      return;
    }
    const nodeOff = this.#isNodeOff();
    if (nodeOff !== state.nodeOff) {
      state.nodeOff = nodeOff;
      this.#hide(this.#ofOtherProxy);
      this.#show(state.hidden.keys(), state);
    }
    this.#show(
      [...services].filter((key) => this.#exists(key, state)),
      state,
    );
  }

  /** Shows those of these Services that are no longer hidden. */
  #show(services: Iterable<string>, { hidden }: Serving): void {
    const before = this.view.log.end;
    for (const key of services) {
      const object = hidden.get(key);
      if (object === undefined || this.#isHidden(key)) continue;
      hidden.delete(key);
      this.view.setUnchanged(key, object);
    }
    if (this.view.log.end !== before) this.view.log.commit();
  }

  /**
   * Whether a hidden Service still exists. If the topology no longer has it, it was deleted, and the watch of this view
   * may be late. But the watch of the topology may exclude Services of other proxies: such a Service does exist.
   */
  #exists(key: string, { hidden }: Serving): boolean {
    const object = hidden.get(key);
    if (object === undefined) return false;
    const policy = this.#options.topology.policyInForce(key);
    if (policy?.managed !== false || policy.reason !== 'unknown-service') return true;
    return this.view.codec.service(object).labels.has(PROXY_NAME_LABEL);
  }

  #isHidden(key: string): boolean {
    return this.#options.topology.isHidden(key, this.#ofOtherProxy.has(key));
  }

  #isNodeOff(): boolean {
    return this.#options.topology.nodeContext?.off ?? false;
  }

  /** `waiting` → `serving`, once all that decides about hiding is known. */
  #tryStart(): void {
    const { topology, followsCloudOnly } = this.#options;
    if (this.#state.kind !== 'waiting' || !topology.settled) return;
    if (followsCloudOnly && !topology.cloudOnly.known) return;
    const { objects } = this.#state;
    const hidden = new Map([...objects].filter(([key]) => this.#isHidden(key)));
    this.#state = { kind: 'serving', hidden, nodeOff: this.#isNodeOff() };
    this.view.startUnchanged([...objects].filter(([key]) => !hidden.has(key)));
  }
}
