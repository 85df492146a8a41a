import { type Policy, UNKNOWN_SERVICE } from '../../topology/policy/policy.ts';
import { ZONE_KEY } from '../../topology/policy/topology-keys.ts';
import { isHidden, type ServiceOutcome } from '../../topology/state/service-outcome.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { TopologyChange } from '../../topology/state/topology-change.ts';
import type { Clock } from '../../util/clock.ts';
import type { EndpointsFacts, ObjectBytes } from '../codec/codec.ts';
import type { Change } from '../objects/change.ts';
import type { View } from '../view/view.ts';
import { changeSteps } from './change-steps.ts';
import {
  type Cause,
  causeOfObjects,
  causeOfTopology,
  type DecisionChange,
  DecisionJournal,
} from './decision-journal.ts';
import { EndpointIndex, type EndpointsObject } from './endpoint-index.ts';
import { EndpointsWriter } from './endpoints-writer.ts';
import { mostReadyFirst } from './most-ready-first.ts';
import { type ProjectedEndpoints, ServiceDecider } from './service-decider.ts';

/** What the projection did since the start, for metrics. */
export interface ProjectionCounters {
  /** Events sent because the topology, a policy or another object of the Service changed, not the object. */
  readonly injected: number;
  /** Changes of an object that alter nothing this node sees. */
  readonly suppressed: number;
}

/** See {@link EndpointsProjection.inspect}. */
export interface ServiceInspection {
  readonly outcome: ServiceOutcome;
  readonly objects: readonly EndpointsObject[];
  /** An object has the name of the Service, and belongs to none: its label is missing. */
  readonly isUnlabelled: boolean;
  /** For how long the same keys have won, in milliseconds; undefined: nothing was decided. */
  readonly ageMs: number | undefined;
}

export interface EndpointsProjectionOptions {
  readonly view: View;
  readonly topology: Topology;
  readonly clock: Clock;
  /** Whether this view reports to the topology which Services are withheld. */
  readonly reportsWithheld: boolean;
  /**
   * Which objects the view shows. The other ones take part in decisions: a decision about a Service needs all its
   * slices. Default: all.
   */
  readonly selects?: (object: ObjectBytes) => boolean;
  /** Notified of each change that the journal takes. */
  readonly onDecisionChanged?: (change: DecisionChange) => void;
  /**
   * Whether an object belongs to a Service that the topology does not read, and that is hidden by its labels. The
   * objects of such a Service are hidden too. Default: none is.
   */
  readonly ofOtherProxy?: (object: ObjectBytes) => boolean;
}

/**
 * When thousands of Services are decided again, watchers are notified after the first 32, and then each time that
 * twice as many are decided: early, and still in few writes. Above 512, each 512: clients read while we decide.
 */
const FIRST_PORTION = 32;
const MAX_PORTION = 512;

/** In a change of the topology, the API server has changed no object. */
const NO_KEYS: ReadonlySet<string> = new Set();

/** Services that were decided, and whether all their traffic goes to the cloud; undefined: not reported. */
type WithheldReport = ReadonlyMap<string, boolean> | undefined;

/**
 * Shows, for each EndpointSlice or Endpoints object, the endpoints that the decision about its Service selects.
 *
 *     listing ──listed()──▶ listed ──topology synced──▶ started
 *
 *     objects changed ──store──▶ affected Services ─┬─decide─▶ write what differs ─▶ report
 *     topology changed ────────▶ affected Services ─┘
 *
 * Batches calls it, and commits what it has written. Invariant: after each call, the view equals one of a fresh list
 * under the same topology, except for versions and for changes that do not count (see Edit.withoutNoise). A Service
 * whose first policy is pending shows no objects.
 */
export class EndpointsProjection {
  readonly view: View;
  /** Decisions that changed since the view started. */
  readonly journal: DecisionJournal;
  readonly #options: EndpointsProjectionOptions;
  readonly #index = new EndpointIndex();
  readonly #decider: ServiceDecider;
  readonly #writer: EndpointsWriter;
  #isListed = false;
  #injected = 0;

  constructor(options: EndpointsProjectionOptions) {
    const { view, topology, clock } = options;
    this.view = view;
    this.journal = new DecisionJournal(options.onDecisionChanged);
    this.#options = options;
    this.#writer = new EndpointsWriter(view);
    this.#decider = new ServiceDecider({ topology, clock, journal: this.journal });
  }

  get counters(): ProjectionCounters {
    return { injected: this.#injected, suppressed: this.#writer.suppressed };
  }

  /** Bytes of projected objects that are kept beside the raw ones because they differ. */
  get copiedBytes(): number {
    return this.#writer.copied;
  }

  /** The state of a Service, to explain it. Changes nothing. */
  inspect(service: string): ServiceInspection {
    const namesake = this.#index.get(service);
    return {
      outcome: this.#decider.outcome(service),
      objects: [...this.#index.ofService(service)],
      isUnlabelled: namesake !== undefined && namesake.service === undefined,
      ageMs: this.#decider.age(service),
    };
  }

  /** What was decided last about each Service that has a policy or endpoints. Each is read when it is its turn. */
  *outcomes(): Generator<ServiceOutcome> {
    for (const service of this.#index.services()) yield this.#decider.outcome(service);
    for (const service of this.#options.topology.policies.services()) {
      if (this.#index.ofService(service).length === 0) yield this.#decider.outcome(service);
    }
  }

  /** Services that have endpoints objects, with a policy or without. */
  services(): IterableIterator<string> {
    return this.#index.services();
  }

  /**
   * Takes changes of objects, and writes what they alter. An object that changes twice is shown twice, and each time
   * must be committed before the next one.
   */
  *update(changes: readonly Change<EndpointsFacts>[]): Generator<WithheldReport> {
    for (const step of this.view.started ? changeSteps(changes) : [changes]) {
      const affected = this.#store(step);
      if (this.view.started) this.#project(step, affected);
      yield this.#withheld(affected);
    }
  }

  /** All objects that exist at the API server have been passed to {@link update}. */
  listed(): void {
    this.#isListed = true;
  }

  /** Starts the view if that is possible now. Reports all Services. */
  start(): WithheldReport {
    const { topology } = this.#options;
    if (this.view.started || !this.#isListed || !topology.synced) return undefined;
    for (const service of topology.policies.usersOf(ZONE_KEY)) {
      this.#decider.lookUpNodes(service, this.#index.ofService(service));
    }
    if (topology.lookups.mustWait(this)) return undefined;
    this.#writer.start(this.#initialObjects());
    return this.#withheld(this.#index.services());
  }

  /**
   * Decides Services again that a change of the topology affects, and writes what differs. Each portion must be
   * committed before the next one, see {@link FIRST_PORTION}.
   */
  *decideAgain(change: TopologyChange): Generator<WithheldReport> {
    if (!this.view.started) {
      yield this.start();
      return;
    }
    const cause = causeOfTopology(change);
    let portion: string[] = [];
    let [decided, next] = [0, FIRST_PORTION];
    for (const service of this.#affectedBy(change)) {
      this.#projectService(service, cause, NO_KEYS);
      portion.push(service);
      if (++decided < next) continue;
      yield this.#withheld(portion);
      portion = [];
      next += Math.min(next, MAX_PORTION);
    }
    if (portion.length > 0) yield this.#withheld(portion);
  }

  /** Each once. They are found while they are decided, so that the first event does not wait for the search. */
  *#affectedBy({ services, nodes, isSwitched }: TopologyChange): Generator<string> {
    const { policies } = this.#options.topology;
    yield* services;
    if (nodes.size === 0 && !isSwitched) return;
    // In the order of the index, which is about that of memory: in the order of their nodes it takes longer.
    for (const [service, objects] of this.#index.byService()) {
      if (services.has(service)) continue;
      if (this.#isOn(nodes, service, objects)) yield service;
      // The topology does not know these Services.
      else if (isSwitched && policies.pendingOrActive(service) === UNKNOWN_SERVICE) yield service;
    }
  }

  /** Whether a Service has an endpoint on one of these nodes, and uses one of its keys. */
  #isOn(
    nodes: TopologyChange['nodes'],
    service: string,
    objects: readonly EndpointsObject[],
  ): boolean {
    let policy: Policy | undefined;
    for (const { groups } of objects) {
      for (const { endpoints } of groups) {
        for (const { node } of endpoints) {
          const keys = nodes.get(node);
          if (keys === undefined) continue;
          policy ??= this.#options.topology.activePolicy(service);
          if (policy?.managed !== true) return false;
          for (const key of policy.keys) if (keys.has(key)) return true;
        }
      }
    }
    return false;
  }

  #withheld(services: Iterable<string>): WithheldReport {
    if (!this.#options.reportsWithheld || !this.view.started) return undefined;
    const withheld = new Map<string, boolean>();
    for (const service of services) {
      const outcome = this.#decider.outcome(service);
      withheld.set(service, outcome.kind === 'withheld' && isHidden(outcome));
    }
    return withheld;
  }

  *#initialObjects(): Generator<ProjectedEndpoints> {
    for (const [service, objects] of this.#index.byService()) {
      const projected = this.#decider.decide(service, objects, undefined);
      if (projected === 'hidden') continue;
      for (const each of projected) if (each.object.selected) yield each;
    }
    for (const object of this.#index.objects()) {
      if (object.service !== undefined || !object.selected) continue;
      yield { object, keep: undefined, managed: false };
    }
  }

  /**
   * Stores changes of different objects together, and returns the Services to be decided again. A list that was read
   * again has no state in between, in which one slice is new and its sibling is old.
   */
  #store(changes: readonly Change<EndpointsFacts>[]): ReadonlySet<string> {
    const affected = new Set<string>();
    for (const change of changes) this.#storeOne(change, affected);
    return affected;
  }

  #storeOne(change: Change<EndpointsFacts>, affected: Set<string>): void {
    const { selects = () => true, ofOtherProxy = () => false } = this.#options;
    const { key } = change;
    const before = this.#index.get(key);
    if (change.type === 'DELETED') {
      if (before !== undefined) this.#retire(before, affected);
      return;
    }
    const { facts, object: raw } = change;
    const traits = { selected: selects(raw), ofOtherProxy: ofOtherProxy(raw) };
    if (before !== undefined) {
      if (this.#index.refresh(before, facts, raw, traits)) return;
      this.#index.remove(before);
    }
    const object = this.#index.add(key, facts, raw, traits);
    if (object.service === before?.service) object.shown = before?.shown;
    else if (before !== undefined) {
      this.#retire(before, affected);
      // Its Service is decided after the one that it leaves, which needs its other endpoints first.
      affected.delete(object.service ?? '');
    }
    if (object.service !== undefined) affected.add(object.service);
  }

  /**
   * Removes an object that does not exist any more, or belongs to another Service now. Clients see DELETED and ADDED:
   * kube-proxy files a slice by its newest label only. After MODIFIED, the old Service would keep it for ever.
   */
  #retire(object: EndpointsObject, affected: Set<string>): void {
    const { key, service } = object;
    if (this.#index.get(key) === object) this.#index.remove(object);
    this.#writer.forget(object);
    if (service === undefined) {
      this.view.delete(key);
      return;
    }
    affected.add(service);
    if (this.view.get(key) !== undefined) this.#index.addRetired(service, key);
  }

  /** Shows changes that are stored, and what they alter in the affected Services. */
  #project(changes: readonly Change<EndpointsFacts>[], affected: ReadonlySet<string>): void {
    const cause = causeOfObjects(changes);
    const changed = new Set(changes.map(({ key }) => key));
    for (const service of affected) this.#projectService(service, cause, changed);
    for (const { key } of changes) {
      const object = this.#index.get(key);
      if (object === undefined) continue;
      if (object.service === undefined) {
        this.#write(object, { object, keep: undefined, managed: false }, changed);
      } else if (!affected.has(object.service) && this.view.get(key) !== undefined) {
        // The decision uses nothing of what changed, so the last one still applies.
        const { keep, managed = false } = object.shown ?? {};
        this.#writer.show({ object, keep, managed });
      }
    }
  }

  /**
   * Decides a Service again, and writes what differs. Objects that it has lost are deleted last.
   *
   * @param changed keys of the objects that the API server has changed
   */
  #projectService(service: string, cause: Cause, changed: ReadonlySet<string>): void {
    const objects = this.#index.ofService(service);
    const projected = this.#decider.decide(service, objects, cause);
    if (projected === 'hidden') {
      for (const object of objects) this.#write(object, undefined, changed);
    } else {
      for (const each of mostReadyFirst(projected)) this.#write(each.object, each, changed);
    }
    for (const key of this.#index.takeRetired(service)) {
      const isShownAgain = this.#index.get(key)?.shown !== undefined;
      if (!isShownAgain) this.view.delete(key);
    }
  }

  /** Shows an object as it was decided, if the view selects it; undefined: hides it. */
  #write(
    object: EndpointsObject,
    projected: ProjectedEndpoints | undefined,
    changed: ReadonlySet<string>,
  ): void {
    const before = this.view.log.end;
    if (projected !== undefined && object.selected) this.#writer.show(projected);
    else this.#writer.hide(object);
    if (!changed.has(object.key)) this.#injected += this.view.log.end - before;
  }
}
