import type { HeldKey } from '../../topology/decide/return-delay.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { TopologyChange } from '../../topology/state/topology-change.ts';
import { hasEndpointWithoutZone } from '../../topology/state/without-zone.ts';
import type { Change, ChangeHandler } from '../codec/change.ts';
import type { EndpointsFacts, ObjectBytes } from '../codec/codec.ts';
import type { View } from '../view/view.ts';
import { changeSteps } from './change-steps.ts';
import type { Clock } from './clock.ts';
import { causeOfObjects, causeOfTopology } from './decision-cause.ts';
import { type Answer, type Cause, DecisionJournal } from './decision-journal.ts';
import { EndpointIndex, type EndpointsObject } from './endpoint-index.ts';
import { EndpointsWriter } from './endpoints-writer.ts';
import { type Outcome, type ProjectedEndpoints, ServiceDecider } from './service-decider.ts';

/** What the projection did since the start, for metrics. */
export interface ProjectionCounters {
  /** Events sent though the object had not changed: the world had. */
  readonly injected: number;
  /** Changes of an object that alter nothing this node sees. */
  readonly suppressed: number;
}

/** See {@link EndpointsProjection.inspect}. */
export interface ServiceInspection {
  readonly objects: readonly EndpointsObject[];
  /** What a return delay holds of `<family> <port>`. */
  readonly held: (port: string) => HeldKey | undefined;
  /** For how long the answer has been the same, in milliseconds; undefined: there is none. */
  readonly ageMs: number | undefined;
}

export interface EndpointsProjectionOptions {
  readonly view: View;
  readonly topology: Topology;
  readonly clock: Clock;
  /** Whether this is the view that tells the world which Services are withheld. */
  readonly tellsCloudOnly: boolean;
}

/**
 * While thousands of Services are decided again, watchers are told after so many, and then each time that twice
 * as many are decided: early, and yet in few writes.
 */
const FIRST_PORTION = 32;

/**
 * Shows of each EndpointSlice or Endpoints object the endpoints that the decision about its Service selects.
 * A change of an object or of the world decides the Services it touches again, and shows what came out
 * different, all objects of a Service together.
 *
 * Invariant: after each call, each object is shown as a fresh list of the same objects under the same world
 * would show it, but for its version and for changes that are none (see Codec.significant). None is seen of a
 * Service whose first policy waits.
 */
export class EndpointsProjection implements ChangeHandler<EndpointsFacts> {
  readonly view: View;
  /** What was decided otherwise since the view started. */
  readonly journal = new DecisionJournal();
  readonly #clock: Clock;
  readonly #topology: Topology;
  readonly #index = new EndpointIndex();
  readonly #decider: ServiceDecider;
  readonly #display: EndpointsWriter;
  readonly #unsubscribe: () => void;
  /** Services decided and not yet told to the world; undefined: another view tells. */
  readonly #cloudOnly: Map<string, boolean> | undefined;
  readonly #listeners = new Set<(service: string) => void>();
  /** Why Services are decided now. */
  #cause: Cause = { kind: 'endpoints', subject: '' };
  #synced = false;
  /** End of the log at the last commit. */
  #committed = 0;
  #injected = 0;

  constructor({ view, topology, clock, tellsCloudOnly }: EndpointsProjectionOptions) {
    this.view = view;
    this.#display = new EndpointsWriter(view);
    this.#topology = topology;
    this.#clock = clock;
    this.#cloudOnly = tellsCloudOnly ? new Map() : undefined;
    this.#decider = new ServiceDecider({
      topology,
      clock,
      onDue: (services) => {
        this.#cause = { kind: 'return-delay', subject: '' };
        this.#decideAgain(services);
      },
      onDecided: (service, from, to) => this.#decided(service, from, to),
    });
    this.#unsubscribe = topology.subscribe({ changed: (change) => this.#topologyChanged(change) });
  }

  get counters(): ProjectionCounters {
    return { injected: this.#injected, suppressed: this.#display.suppressed };
  }

  /** Bytes of objects as shown that are held beside the raw ones, for endpoints are cut. */
  get copiedBytes(): number {
    return this.#display.copied;
  }

  /** What is known of a Service, to explain it. Looking changes nothing. */
  inspect(service: string): ServiceInspection {
    return {
      objects: [...this.#index.ofService(service)],
      held: (port) => this.#decider.held(service, port),
      ageMs: this.#decider.age(service),
    };
  }

  /** Calls back after each decision, whether it came out different or not; returns how to end that. */
  onDecided(listener: (service: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** How many Services each answer has; see ServiceDecider. */
  winners(): ReadonlyMap<string, number> {
    return this.#decider.winners();
  }

  /** Services that have endpoints objects, of a policy or not. */
  services(): IterableIterator<string> {
    return this.#index.services();
  }

  /** Stops listening to the world, and takes back what it was told. */
  close(): void {
    this.#unsubscribe();
    this.#decider.close();
    this.#topology.setServicesWithoutZone(
      this,
      Array.from(this.#index.services(), (service) => [service, false] as const),
    );
  }

  onChanges(changes: readonly Change<EndpointsFacts>[]): void {
    for (const step of changeSteps(changes)) this.#apply(step);
    if (this.view.started) this.#commit();
  }

  onSynced(): void {
    this.#synced = true;
    this.#tryStart();
  }

  /**
   * Takes in changes of different objects together, then decides: what a re-list found has no state in
   * between, in which one slice is new and its sibling old.
   */
  #apply(changes: readonly Change<EndpointsFacts>[]): void {
    const touched: Touched = new Map();
    for (const change of changes) this.#store(change, touched);
    this.#reportZoneless(touched.keys());
    if (!this.view.started) return;
    this.#cause = causeOfObjects(changes);
    for (const [service, gone] of touched) this.#project(service, gone);
    for (const { key } of changes) {
      const object = this.#index.get(key);
      if (object === undefined) continue;
      if (object.service === undefined) {
        this.#display.show({ object, keep: undefined, managed: false });
      } else if (!touched.has(object.service)) {
        this.#showAgain(object);
      }
    }
  }

  /** Shows an object of which a decision about its Service sees nothing new, if it is shown at all. */
  #showAgain(object: EndpointsObject): void {
    const { key, keep, managed } = object;
    if (this.view.get(key) !== undefined) this.#display.show({ object, keep, managed });
  }

  /** Brings the index up to date; adds the Services to be decided again. */
  #store(change: Change<EndpointsFacts>, touched: Touched): void {
    const before = this.#index.get(change.key);
    if (before !== undefined) {
      if (change.type !== 'DELETED' && this.#index.refresh(before, change.facts, change.object)) {
        return;
      }
      this.#index.remove(before);
      this.#display.forget(before);
      if (before.service !== undefined) goneOf(touched, before.service);
      if (change.type === 'DELETED') this.#left(before, touched);
    }
    if (change.type !== 'DELETED') {
      const object = this.#index.add(change.key, change.facts, change.object);
      object.replaces = before?.replaces ?? this.view.get(change.key) !== undefined;
      if (object.service !== undefined) goneOf(touched, object.service);
    }
  }

  #left({ key, service }: EndpointsObject, touched: Touched): void {
    if (service === undefined) this.view.delete(key);
    else if (this.view.get(key) !== undefined) goneOf(touched, service).add(key);
  }

  #topologyChanged(change: TopologyChange): void {
    if (!this.view.started) {
      this.#tryStart();
      return;
    }
    const onNodes = this.#servicesOn(change.nodes);
    // What the owner of the cluster decides takes effect at once.
    const { services, ownNode, firstKnown } = change;
    for (const service of services) this.#decider.forget(service);
    if (ownNode !== undefined || firstKnown === true)
      for (const service of onNodes) this.#decider.forget(service);
    this.#cause = causeOfTopology(change);
    this.#decideAgain(new Set([...services, ...onNodes]));
  }

  /** Services with endpoints on these nodes that use one of the keys. */
  #servicesOn(nodes: TopologyChange['nodes']): Set<string> {
    const found = new Set<string>();
    for (const [node, keys] of nodes) {
      for (const service of this.#index.servicesOn(node)) {
        const policy = this.#topology.policyInForce(service);
        if (policy?.managed === true && policy.keys.some((key) => keys.has(key))) {
          found.add(service);
        }
      }
    }
    return found;
  }

  /** Shows what the decision about some Services is now. */
  #decideAgain(services: Iterable<string>): void {
    const before = this.view.log.end;
    let decided = 0;
    let portion = FIRST_PORTION;
    for (const service of services) {
      this.#project(service);
      if (++decided < portion) continue;
      this.#commit();
      portion *= 2;
    }
    this.#injected += this.view.log.end - before;
    this.#commit();
  }

  /**
   * Lets watchers, and those who follow what is withheld, see all that was done since the last time. A Service
   * that is hidden goes before its endpoints, and comes back after them: without any, it would be refused.
   */
  #commit(): void {
    const { log } = this.view;
    this.#tell((isCloudOnly) => isCloudOnly);
    if (log.end !== this.#committed) log.commit();
    this.#committed = log.end;
    this.#tell((isCloudOnly) => !isCloudOnly);
  }

  /** Tells the world of some of the Services that were decided whether they are withheld. */
  #tell(which: (isCloudOnly: boolean) => boolean): void {
    if (this.#cloudOnly === undefined) return;
    const decided = new Map([...this.#cloudOnly].filter(([, isCloudOnly]) => which(isCloudOnly)));
    for (const service of decided.keys()) this.#cloudOnly.delete(service);
    this.#topology.setCloudOnly(decided);
  }

  #tryStart(): void {
    if (!this.#synced || !this.#topology.settled || this.view.started) return;
    this.view.start((version) => this.#initialObjects(version));
    this.#tell(() => true);
  }

  *#initialObjects(version: string): Generator<readonly [string, ObjectBytes]> {
    for (const service of this.#index.services()) {
      const outcome = this.#decide(service);
      if (typeof outcome === 'string') continue;
      for (const shown of outcome) yield [shown.object.key, this.#display.write(shown, version)];
    }
    for (const object of this.#index.objects()) {
      if (object.service !== undefined) continue;
      yield [object.key, this.#display.write({ object, keep: undefined, managed: false }, version)];
    }
  }

  /** @param gone objects of the Service that are no more and shown still; they leave last */
  #project(service: string, gone: ReadonlySet<string> = NONE): void {
    const outcome = this.#decide(service);
    if (typeof outcome === 'string') {
      for (const object of this.#index.ofService(service)) this.view.delete(object.key);
    } else {
      for (const shown of gainsFirst(outcome)) this.#display.show(shown);
    }
    for (const key of gone) if (this.#index.get(key) === undefined) this.view.delete(key);
  }

  #decide(service: string): Outcome {
    const outcome = this.#decider.decide(service, [...this.#index.ofService(service)]);
    this.#cloudOnly?.set(service, outcome === 'withheld');
    return outcome;
  }

  #decided(service: string, from: Answer | undefined, to: Answer | undefined): void {
    // What the first list holds is no change.
    if (this.view.started) this.journal.record(this.#clock.now(), service, from, to, this.#cause);
    for (const listener of this.#listeners) listener(service);
  }

  #reportZoneless(services: Iterable<string>): void {
    const reports: [string, boolean][] = [];
    for (const service of services) {
      const objects = this.#index.ofService(service);
      reports.push([service, objects.some(({ groups }) => hasEndpointWithoutZone(groups))]);
    }
    this.#topology.setServicesWithoutZone(this, reports);
  }
}

/** Services to be decided again, each with its objects that are no more and shown still. */
type Touched = Map<string, Set<string>>;

const NONE: ReadonlySet<string> = new Set();

function goneOf(touched: Touched, service: string): Set<string> {
  const gone = touched.get(service) ?? new Set();
  touched.set(service, gone);
  return gone;
}

/** kube-proxy may look in between, and shall not find a Service without an endpoint that it can use. */
function gainsFirst(outcome: readonly ProjectedEndpoints[]): readonly ProjectedEndpoints[] {
  if (outcome.length < 2) return outcome;
  const byRank: ProjectedEndpoints[][] = [[], [], []];
  for (const shown of outcome) byRank[rankOf(shown)]?.push(shown);
  return byRank.flat();
}

/** 0: ready endpoints are shown; 1: others; 2: none. */
function rankOf({ object, keep }: ProjectedEndpoints): number {
  let index = 0;
  let rank = 2;
  for (const { endpoints } of object.groups) {
    for (const { state } of endpoints) {
      if (keep !== undefined && keep[index++] === 0) continue;
      if (state === 'ready') return 0;
      rank = 1;
    }
  }
  return rank;
}
