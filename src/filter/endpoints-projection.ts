import type { EndpointGroup } from '../topology/endpoint.ts';
import type { World, WorldChange } from '../topology/world.ts';
import type { Change, ChangeSink } from './change.ts';
import type { EndpointsFacts, ObjectBytes } from './codec.ts';
import { EndpointIndex, type EndpointsObject } from './endpoint-index.ts';
import type { View } from './view.ts';

/** Counts what the projection did, for metrics. */
export interface ProjectionCounters {
  /** Events sent though the object had not changed: the world had. */
  injected: number;
  /** Changes of an object that alter nothing this node sees. */
  suppressed: number;
}

/**
 * Shows of each EndpointSlice or Endpoints object the endpoints that the decision about its Service selects.
 * A change of an object or of the world decides the Services it touches again, and shows what came out
 * different, in one commit.
 *
 * Invariant: after each call, each object is shown as a fresh list of the same objects under the same world
 * would show it, but for its version and for changes that are none (see Codec.significant). Objects of a
 * Service whose policy waits for node sets stay as they were, and unseen if they are new.
 */
export class EndpointsProjection implements ChangeSink<EndpointsFacts> {
  readonly view: View;
  readonly counters: ProjectionCounters = { injected: 0, suppressed: 0 };
  readonly #world: World;
  readonly #index = new EndpointIndex();
  readonly #unsubscribe: () => void;
  #synced = false;

  constructor(view: View, world: World) {
    this.view = view;
    this.#world = world;
    this.#unsubscribe = world.subscribe({ changed: (change) => this.#worldChanged(change) });
  }

  /** Stops listening to the world, and takes back what it was told. */
  close(): void {
    this.#unsubscribe();
    this.#world.setZoneless(
      this,
      Array.from(this.#index.services(), (service) => [service, false] as const),
    );
  }

  changed(changes: readonly Change<EndpointsFacts>[]): void {
    if (this.view.started) {
      for (const change of changes) this.#applyStarted(change);
      this.view.log.commit();
    } else {
      const touched = new Set(changes.flatMap((change) => this.#store(change)));
      this.#reportZoneless(touched);
    }
  }

  synced(): void {
    this.#synced = true;
    this.#tryStart();
  }

  #applyStarted(change: Change<EndpointsFacts>): void {
    const touched = this.#store(change);
    this.#reportZoneless(touched);
    if (change.type === 'DELETED') this.view.hide(change.key);
    for (const service of touched) this.#project(service);
    const object = this.#index.get(change.key);
    if (object !== undefined && object.service === undefined) this.#show(object, undefined, false);
  }

  /** Brings the index up to date; returns the Services concerned. */
  #store(change: Change<EndpointsFacts>): string[] {
    const before = this.#index.get(change.key);
    const touched = new Set<string>();
    if (before !== undefined) {
      this.#index.remove(before);
      if (before.service !== undefined) touched.add(before.service);
    }
    if (change.type !== 'DELETED') {
      const object = this.#index.add(change.key, change.facts, change.object);
      if (object.service !== undefined) touched.add(object.service);
    }
    return [...touched];
  }

  #worldChanged(change: WorldChange): void {
    if (!this.view.started) {
      this.#tryStart();
      return;
    }
    const touched = new Set(change.services);
    for (const [node, keys] of change.nodes) {
      for (const service of this.#index.servicesOn(node)) {
        const policy = this.#world.policyInForce(service);
        if (policy?.managed === true && policy.keys.some((key) => keys.has(key))) {
          touched.add(service);
        }
      }
    }
    const before = this.view.log.end;
    for (const service of touched) this.#project(service);
    this.counters.injected += this.view.log.end - before;
    if (this.view.log.end !== before) this.view.log.commit();
  }

  #tryStart(): void {
    if (!this.#synced || !this.#world.settled || this.view.started) return;
    this.view.start((version) => this.#initialObjects(version));
  }

  *#initialObjects(version: string): Generator<readonly [string, ObjectBytes]> {
    for (const service of this.#index.services()) {
      for (const [object, keep, managed] of this.#decide(service)) {
        yield [object.key, this.#write(object, keep, managed, version)];
      }
    }
    for (const object of this.#index.objects()) {
      if (object.service !== undefined) continue;
      yield [object.key, this.#write(object, undefined, false, version)];
    }
  }

  #project(service: string): void {
    for (const [object, keep, managed] of this.#decide(service)) this.#show(object, keep, managed);
  }

  /** The endpoints to keep (undefined: all) of each object of a Service; nothing while it is undecided. */
  *#decide(
    service: string,
  ): Generator<readonly [EndpointsObject, keep: Uint8Array | undefined, managed: boolean]> {
    const policy = this.#world.policyInForce(service);
    if (policy === undefined) return;
    const objects = [...this.#index.ofService(service)];
    if (!policy.managed) {
      for (const object of objects) yield [object, undefined, false];
      return;
    }
    const groups = objects.flatMap((object) => object.groups);
    const { keep } = this.#world.decide(groups, policy.keys);
    let offset = 0;
    for (const object of objects) {
      const end = offset + sizeOf(object.groups);
      const own = keep.slice(offset, end);
      offset = end;
      yield [object, own.includes(0) ? own : undefined, true];
    }
  }

  #show(object: EndpointsObject, keep: Uint8Array | undefined, managed: boolean): void {
    const cutHints = managed && object.hinted;
    const shown = this.view.get(object.key);
    if (shown !== undefined && this.#unchanged(object, shown, keep, cutHints, managed)) {
      if (object.fresh) {
        this.counters.suppressed++;
        object.fresh = false;
        object.exact = false;
      }
      object.keep = keep;
      object.cutHints = cutHints;
      return;
    }
    this.view.show(object.key, (version) => this.#write(object, keep, managed, version));
  }

  #unchanged(
    object: EndpointsObject,
    shown: ObjectBytes,
    keep: Uint8Array | undefined,
    cutHints: boolean,
    managed: boolean,
  ): boolean {
    // What no policy manages passes every change on.
    if (object.fresh && !managed) return false;
    const sameEdit = object.cutHints === cutHints && sameMask(object.keep, keep);
    if (!object.fresh && sameEdit && (managed || object.exact)) return true;
    const { codec, resource } = this.view;
    const edit = { resourceVersion: '0', cutHints, ...(keep === undefined ? {} : { keep }) };
    const next = codec.splice(resource, object.raw, edit);
    if (managed) return codec.significant(next).equals(codec.significant(shown));
    return next.equals(codec.splice(resource, shown, { resourceVersion: '0' }));
  }

  #write(
    object: EndpointsObject,
    keep: Uint8Array | undefined,
    managed: boolean,
    resourceVersion: string,
  ): ObjectBytes {
    const { codec, resource } = this.view;
    const cutHints = managed && object.hinted;
    const edit = { resourceVersion, cutHints, ...(keep === undefined ? {} : { keep }) };
    const written = codec.splice(resource, object.raw, edit);
    object.keep = keep;
    object.cutHints = cutHints;
    object.fresh = false;
    object.exact = true;
    // Nothing is cut, so that the bytes shown hold all there is to know: keep them once.
    if (keep === undefined && !cutHints) object.raw = written;
    return written;
  }

  #reportZoneless(services: Iterable<string>): void {
    const reports: [string, boolean][] = [];
    for (const service of services) reports.push([service, this.#hasZoneless(service)]);
    this.#world.setZoneless(this, reports);
  }

  #hasZoneless(service: string): boolean {
    for (const { groups } of this.#index.ofService(service)) {
      for (const { endpoints } of groups) {
        if (endpoints.some(({ node, zone }) => node !== '' && zone === '')) return true;
      }
    }
    return false;
  }
}

function sizeOf(groups: readonly EndpointGroup[]): number {
  return groups.reduce((size, { endpoints }) => size + endpoints.length, 0);
}

function sameMask(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.length === b.length && a.every((value, index) => value === b[index]);
}
