import type { HeldKey } from '../../topology/decide/return-delay.ts';
import type { ServiceOutcome } from '../../topology/state/service-outcome.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { TopologyChange } from '../../topology/state/topology-change.ts';
import { hasEndpointWithoutZone } from '../../topology/state/without-zone.ts';
import type { Clock } from '../../util/clock.ts';
import type { Change, ChangeHandler } from '../codec/change.ts';
import type { EndpointsFacts, ObjectBytes } from '../codec/codec.ts';
import type { View } from '../view/view.ts';
import { AffectedServices } from './affected-services.ts';
import { changeSteps } from './change-steps.ts';
import { CloudOnlyReports } from './cloud-only-reports.ts';
import { causeOfObjects, causeOfTopology } from './decision-cause.ts';
import { type Cause, type DecisionChange, DecisionJournal } from './decision-journal.ts';
import { EndpointIndex, type EndpointsObject } from './endpoint-index.ts';
import { EndpointsWriter } from './endpoints-writer.ts';
import { mostReadyFirst } from './most-ready-first.ts';
import { type DecidedService, type ProjectedEndpoints, ServiceDecider } from './service-decider.ts';

/** What the projection did since the start, for metrics. */
export interface ProjectionCounters {
  /** Events sent although the object had not changed: the topology had. */
  readonly injected: number;
  /** Changes of an object that alter nothing this node sees. */
  readonly suppressed: number;
}

/** See {@link EndpointsProjection.inspect}. */
export interface ServiceInspection {
  readonly outcome: ServiceOutcome;
  readonly objects: readonly EndpointsObject[];
  /** The nearer key that a return delay holds back for `<family> <port>`. */
  readonly held: (port: string) => HeldKey | undefined;
  /** For how long the same keys have won, in milliseconds; undefined: nothing was decided. */
  readonly ageMs: number | undefined;
}

export interface EndpointsProjectionOptions {
  readonly view: View;
  readonly topology: Topology;
  readonly clock: Clock;
  /** Whether this view reports to the topology which Services are left to the cloud. */
  readonly reportsCloudOnly: boolean;
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
 * twice as many are decided: early, and still in few writes.
 */
const FIRST_PORTION = 32;

/**
 * - `listing`: objects are stored; the API server has not listed all of them yet.
 * - `waiting`: all objects are stored; a policy, or a node set that it needs, is still unknown.
 * - `serving`: the view is open, and each change is shown.
 */
type State = 'listing' | 'waiting' | 'serving';

/**
 * Shows, for each EndpointSlice or Endpoints object, the endpoints that the decision about its Service selects.
 *
 *     listing ──onSynced()──▶ waiting ──topology settled──▶ serving
 *
 *     objects changed ──store──▶ affected Services ─┐
 *     topology changed ────────▶ affected Services ─┼─decide─▶ write what differs ─▶ commit to the event log
 *     return delay passed ─────▶ affected Services ─┘
 *
 * Invariant: after each call, the view equals that of a fresh list under the same topology, except for versions and
 * for changes that do not count (see Edit.withoutNoise). A Service whose first policy is pending shows no objects.
 * A Service that cannot be decided, because its endpoints lost their zones, remains as it was shown.
 */
export class EndpointsProjection implements ChangeHandler<EndpointsFacts> {
  readonly view: View;
  /** Decisions that changed since the view started. */
  readonly journal: DecisionJournal;
  readonly #clock: Clock;
  readonly #selects: (object: ObjectBytes) => boolean;
  readonly #ofOtherProxy: (object: ObjectBytes) => boolean;
  readonly #topology: Topology;
  readonly #index = new EndpointIndex();
  readonly #decider: ServiceDecider;
  readonly #writer: EndpointsWriter;
  /** Undefined: another view reports. */
  readonly #cloudOnly: CloudOnlyReports | undefined;
  readonly #unsubscribe: () => void;
  /** Services that cannot be decided yet, each with the keys of its objects that no longer exist and are still shown. */
  readonly #undecided = new Map<string, readonly string[]>();
  #state: State = 'listing';
  #injected = 0;

  constructor({
    view,
    topology,
    clock,
    reportsCloudOnly: tellsCloudOnly,
    selects = () => true,
    onDecisionChanged,
    ofOtherProxy = () => false,
  }: EndpointsProjectionOptions) {
    this.view = view;
    this.journal = new DecisionJournal(onDecisionChanged);
    this.#selects = selects;
    this.#ofOtherProxy = ofOtherProxy;
    this.#writer = new EndpointsWriter(view);
    this.#topology = topology;
    this.#clock = clock;
    this.#cloudOnly = tellsCloudOnly ? new CloudOnlyReports(topology) : undefined;
    this.#decider = new ServiceDecider({
      topology,
      clock,
      onDue: (services) => this.#decideAgain(services, { kind: 'return-delay', subject: '' }),
    });
    this.#unsubscribe = topology.subscribe({ changed: (change) => this.#topologyChanged(change) });
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
    return {
      outcome: this.#decider.outcome(service),
      objects: [...this.#index.ofService(service)],
      held: (port) => this.#decider.held(service, port),
      ageMs: this.#decider.age(service),
    };
  }

  /** What was decided last about each Service that has a policy or endpoints. Each is read when it is its turn. */
  *outcomes(): Generator<ServiceOutcome> {
    for (const service of this.#index.services()) yield this.#decider.outcome(service);
    for (const service of this.#topology.policies.services()) {
      if (this.#index.ofService(service).length === 0) yield this.#decider.outcome(service);
    }
  }

  /** Services that have endpoints objects, with a policy or without. */
  services(): IterableIterator<string> {
    return this.#index.services();
  }

  /** Unsubscribes from the topology, and withdraws what was reported to it. */
  close(): void {
    this.#unsubscribe();
    this.#decider.close();
    const services = Array.from(this.#index.services(), (service) => [service, false] as const);
    this.#topology.setServicesWithoutZone(this, new Map(services));
  }

  onChanges(changes: readonly Change<EndpointsFacts>[]): void {
    const isServing = this.#state === 'serving';
    const before = isServing ? this.view.log.end : 0;
    const withoutZone = new Map<string, boolean>();
    for (const step of changeSteps(changes)) {
      const affected = this.#store(step);
      if (isServing) this.#project(step, affected);
      for (const service of affected.services()) {
        const groups = this.#index.ofService(service).flatMap((object) => object.groups);
        withoutZone.set(service, hasEndpointWithoutZone(groups));
      }
    }
    if (isServing) this.#commitSince(before);
    this.#topology.setServicesWithoutZone(this, withoutZone);
  }

  onSynced(): void {
    if (this.#state === 'listing') this.#state = 'waiting';
    this.#tryStart();
  }

  #topologyChanged(change: TopologyChange): void {
    if (this.#state !== 'serving') {
      this.#tryStart();
      return;
    }
    const { services, ownNode, firstKnown } = change;
    const onNodes = this.#servicesOn(change.nodes);
    // What the owner of the cluster changes takes effect immediately, without a return delay.
    for (const service of services) this.#decider.forget(service);
    if (ownNode !== undefined || firstKnown === true) {
      for (const service of onNodes) this.#decider.forget(service);
    }
    const all = new Set([...services, ...onNodes, ...this.#undecided.keys()]);
    // The topology does not know the Services of these, and may have been switched off or on.
    for (const { service, ofOtherProxy } of ownNode === undefined ? [] : this.#index.objects()) {
      if (ofOtherProxy && service !== undefined) all.add(service);
    }
    this.#decideAgain(all, causeOfTopology(change));
  }

  /** `waiting` → `serving`, once the topology has settled. */
  #tryStart(): void {
    if (this.#state !== 'waiting' || !this.#topology.settled) return;
    this.#state = 'serving';
    this.#writer.start(this.#initialObjects());
    this.#cloudOnly?.reportInitial();
  }

  *#initialObjects(): Generator<ProjectedEndpoints> {
    for (const service of this.#index.services()) {
      const { projected } = this.#decide(service);
      if (typeof projected === 'string') continue;
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
  #store(changes: readonly Change<EndpointsFacts>[]): AffectedServices {
    const affected = new AffectedServices();
    for (const change of changes) this.#storeOne(change, affected);
    return affected;
  }

  #storeOne(change: Change<EndpointsFacts>, affected: AffectedServices): void {
    const { key, type } = change;
    const before = this.#index.get(key);
    const selected = type !== 'DELETED' && this.#selects(change.object);
    const ofOtherProxy = type !== 'DELETED' && this.#ofOtherProxy(change.object);
    if (before !== undefined) {
      const isSame =
        type !== 'DELETED' && before.selected === selected && before.ofOtherProxy === ofOtherProxy;
      if (isSame && this.#index.refresh(before, change.facts, change.object)) return;
      this.#index.remove(before);
      this.#writer.forget(before);
      if (before.service !== undefined) affected.add(before.service);
      if (type === 'DELETED') {
        if (before.service === undefined) this.view.delete(key);
        else if (this.view.get(key) !== undefined) affected.addRemoved(before.service, key);
      }
    }
    if (type === 'DELETED') return;
    const shown = { selected, ofOtherProxy };
    const object = this.#index.add(key, change.facts, change.object, shown);
    object.replaces = before?.replaces ?? this.view.get(key) !== undefined;
    if (object.service !== undefined) affected.add(object.service);
  }

  /** Shows changes that are stored, and what they alter in the affected Services. */
  #project(changes: readonly Change<EndpointsFacts>[], affected: AffectedServices): void {
    const cause = causeOfObjects(changes);
    for (const [service, removed] of affected) this.#projectService(service, cause, removed);
    for (const { key } of changes) {
      const object = this.#index.get(key);
      if (object === undefined) continue;
      if (object.service === undefined) {
        this.#show({ object, keep: undefined, managed: false });
      } else if (this.#isDecided(object.service, affected) && this.view.get(key) !== undefined) {
        // The decision uses nothing of what changed, so the last one still applies.
        const { keep, managed } = object;
        this.#writer.show({ object, keep, managed });
      }
    }
  }

  /** Whether the last decision about a Service applies to its objects as they are now. */
  #isDecided(service: string, affected: AffectedServices): boolean {
    return !affected.has(service) && !this.#undecided.has(service);
  }

  /** @param removed objects of the Service that no longer exist and are still shown; they leave last */
  #projectService(service: string, cause: Cause, removed: Iterable<string> = []): void {
    const { projected, before, after } = this.#decide(service);
    const gone = [...(this.#undecided.get(service) ?? []), ...removed];
    if (projected === 'unchanged') {
      this.#undecided.set(service, gone);
      return;
    }
    this.#undecided.delete(service);
    this.journal.record(this.#clock.now(), service, before, after, cause);
    if (projected === 'hidden') {
      for (const { key } of this.#index.ofService(service)) this.view.delete(key);
    } else {
      for (const each of mostReadyFirst(projected)) this.#show(each);
    }
    for (const key of gone) if (this.#index.get(key) === undefined) this.view.delete(key);
  }

  /** Shows an object as it was decided, if the view selects it. */
  #show(projected: ProjectedEndpoints): void {
    const { object } = projected;
    if (object.selected) this.#writer.show(projected);
    else this.view.delete(object.key);
  }

  #decide(service: string): DecidedService {
    const decided = this.#decider.decide(service, this.#index.ofService(service));
    const { projected, outcome } = decided;
    if (projected !== 'unchanged') {
      this.#cloudOnly?.add(service, projected === 'hidden' && outcome.kind === 'withheld');
    }
    return decided;
  }

  /** Services with endpoints on these nodes that use one of the keys. */
  #servicesOn(nodes: TopologyChange['nodes']): Set<string> {
    const found = new Set<string>();
    for (const [node, keys] of nodes) {
      for (const service of this.#index.servicesOn(node)) {
        const policy = this.#topology.policyInForce(service);
        if (policy?.managed !== true) continue;
        if (policy.keys.some((key) => keys.has(key))) found.add(service);
      }
    }
    return found;
  }

  /** Decides Services again whose objects have not changed. */
  #decideAgain(services: Iterable<string>, cause: Cause): void {
    const before = this.view.log.end;
    let committed = before;
    let decided = 0;
    let portion = FIRST_PORTION;
    for (const service of services) {
      this.#projectService(service, cause);
      if (++decided < portion) continue;
      committed = this.#commitSince(committed);
      portion *= 2;
    }
    this.#injected += this.#commitSince(committed) - before;
  }

  /** Notifies watchers of what was appended to the log since a position; returns the end of the log. */
  #commitSince(position: number): number {
    const { log } = this.view;
    this.#cloudOnly?.reportHidden();
    if (log.end !== position) log.commit();
    this.#cloudOnly?.reportShown();
    return log.end;
  }
}
