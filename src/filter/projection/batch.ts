/*
 * The room `projection`: from raw objects to what clients see.
 *
 * - batch.ts: the order in which views change; the only place that passes reports of views to the topology
 * - endpoints-projection.ts: EndpointSlices and Endpoints; endpoint-index.ts, service-decider.ts, endpoints-writer.ts:
 *   its three steps; change-steps.ts, most-ready-first.ts: the order of its events
 * - objects-projection.ts: all other collections; service-visibility.ts: which Services are hidden; feed-first.ts: the
 *   topology has a change first
 * - decision-journal.ts: the decisions that changed, and why
 * - explained-object.ts: an object as an explanation needs it
 */

import type { Topology } from '../../topology/state/topology.ts';
import type { TopologyChange } from '../../topology/state/topology-change.ts';
import type { EndpointsFacts, ObjectMeta } from '../codec/codec.ts';
import type { ChangeHandler } from '../objects/change.ts';
import type { EndpointsProjection } from './endpoints-projection.ts';
import type { ObjectsProjection } from './objects-projection.ts';

/** Keeps one view up to date. */
export interface ViewHandler<Facts extends ObjectMeta> extends ChangeHandler<Facts> {
  /** The view does not change any more, and what it has reported to the topology is withdrawn. */
  close(): void;
}

/**
 * Changes all views of this node in batches, whatever has changed: objects, the topology, or node sets.
 *
 *     objects ──▶ store ──┐                                                      ┌─▶ report to the topology
 *                         ├─▶ hide ─▶ decide ─▶ write ─▶ hide ─▶ commit ─▶ show ─┤        │ if that changed it:
 *     topology changed ───┘        └──────── for each view ───────┘              └────────┴─▶ the next batch
 *
 * kube-proxy may look between any two events, and refuses connections to a Service without endpoints. So Services leave
 * all views before their endpoints change, and appear after them. This is also true of Services that are withheld,
 * which only the decision about their endpoints shows.
 *
 * Invariant: no projection is called while it is on the stack. What a batch changes in the topology is in force in the
 * next one.
 */
export class Batches {
  readonly #topology: Topology;
  readonly #endpoints = new Set<EndpointsProjection>();
  readonly #objects = new Set<Pick<ObjectsProjection, 'hide' | 'show'>>();
  #count = 0;

  constructor(topology: Topology) {
    this.#topology = topology;
    topology.subscribe((change) => this.#run(change));
  }

  /** Batches since the start. While the number is the same, clients see the same, and policies decide the same. */
  get count(): number {
    return this.#count;
  }

  /** Shows EndpointSlices or Endpoints from now on. */
  addEndpoints(projection: EndpointsProjection): ViewHandler<EndpointsFacts> {
    this.#endpoints.add(projection);
    return {
      onChanges: (changes) => {
        this.#count++;
        for (const withheld of projection.update(changes)) this.#commit(projection, withheld);
      },
      onSynced: () => {
        this.#count++;
        projection.listed();
        this.#commit(projection, projection.start());
      },
      close: () => void this.#endpoints.delete(projection),
    };
  }

  /** Shows objects of any other collection from now on. */
  addObjects<Facts extends ObjectMeta>(projection: ObjectsProjection<Facts>): ViewHandler<Facts> {
    if (projection.hides) this.#objects.add(projection);
    return {
      onChanges: (changes) => {
        this.#count++;
        projection.apply(changes);
        this.#runNext(this.#topology.setUnreadServices(projection, projection.takeUnread()));
      },
      onSynced: () => projection.listed(),
      close: () => {
        this.#objects.delete(projection);
        this.#runNext(this.#topology.forgetView(projection));
      },
    };
  }

  #run(change: TopologyChange): void {
    this.#count++;
    const services = change.isSwitched ? undefined : change.services;
    this.#hide(services);
    for (const projection of this.#endpoints) {
      for (const withheld of projection.decideAgain(change)) this.#commit(projection, withheld);
    }
    this.#show(services);
  }

  #runNext(change: TopologyChange | undefined): void {
    if (change !== undefined) this.#run(change);
  }

  /** @param withheld what a view has decided that reports it; undefined: no other view depends on it */
  #commit({ view }: EndpointsProjection, withheld: ReadonlyMap<string, boolean> | undefined): void {
    if (!view.started) return;
    const services = [...(withheld?.keys() ?? [])];
    if (withheld !== undefined) {
      this.#topology.setWithheld(withheld);
      this.#hide(services);
    }
    view.log.commit();
    if (withheld !== undefined) this.#show(services);
  }

  /** Hides what must be hidden now of these Services; undefined: of all, because of what this node is. */
  #hide(services: Iterable<string> | undefined): void {
    for (const projection of this.#objects) projection.hide(services);
  }

  /** Shows those that are visible now. */
  #show(services: Iterable<string> | undefined): void {
    for (const projection of this.#objects) projection.show(services);
  }
}
