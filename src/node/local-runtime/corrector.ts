import type { Codec, EndpointsFacts, ObjectBytes } from '../../filter/codec/codec.ts';
import type { Change, ChangeHandler } from '../../filter/objects/change.ts';
import {
  type EndpointCorrection,
  type PodEndpoint,
  podEndpoints,
} from '../../filter/objects/pod-endpoint.ts';
import type { Resource } from '../../filter/objects/resource.ts';
import type { EndpointState } from '../../topology/decide/endpoint.ts';
import { least } from '../../util/extremes.ts';
import { correctEndpoint } from './correct-endpoint.ts';
import { type LocalPods, podName } from './local-pods.ts';

/** An endpoint that differs from what the API server last sent. */
export interface CorrectedEndpoint {
  /** Name of the EndpointSlice or Endpoints object. */
  readonly object: string;
  /** `namespace/name` of its Pod. */
  readonly pod: string;
  readonly from: EndpointValue;
  /** Undefined: the endpoint was cut, because its address belongs to another Pod now. */
  readonly to: EndpointValue | undefined;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** Corrected endpoints: how many, and since when the first of them, in milliseconds since the epoch. */
export interface CorrectedCount {
  readonly count: number;
  /** Infinity: there are none. */
  readonly since: number;
}

export interface EndpointValue {
  readonly address: string;
  readonly state: EndpointState;
}

export interface CorrectorOptions {
  readonly next: ChangeHandler<EndpointsFacts>;
  readonly codec: Codec;
  readonly resource: Resource;
  readonly nodeName: string;
  /** Whether the API server's present state has been passed on, so that nothing is missing but what comes. */
  readonly isCurrent: () => boolean;
  /** Milliseconds since the epoch. */
  readonly epoch: () => number;
}

interface Correction {
  readonly to: EndpointCorrection;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** An object with endpoints of Pods on this node. */
interface LocalObject {
  /** As the API server sent it last. */
  readonly raw: ObjectBytes;
  readonly facts: EndpointsFacts;
  /** Its endpoints of Pods on this node. */
  readonly endpoints: readonly PodEndpoint[];
  /** As the next handler has it; `raw` itself if nothing is corrected. */
  passed: ObjectBytes;
  /** By the index of the endpoint. */
  corrections: ReadonlyMap<number, Correction>;
}

const NONE: ReadonlyMap<number, Correction> = new Map();

/**
 * A stage between the reflector of EndpointSlices or Endpoints and their projection. It passes every change on, and
 * keeps the objects with endpoints of Pods on this node. With {@link correct} they are corrected from the container
 * runtime, as changes of their own; {@link restore} passes on what the API server sent.
 *
 * Invariants: the next handler has the API server's object, or that object with endpoints of Pods on this node
 * corrected. What the API server sends after {@link stopCorrecting} or {@link restore} is passed on unchanged. An
 * object that does not change is not passed on again, and a read of the runtime that finds nothing new costs nothing:
 * tenants decide how many endpoints name Pods of this node.
 */
export class Corrector implements ChangeHandler<EndpointsFacts> {
  readonly #options: CorrectorOptions;
  readonly #objects = new Map<string, LocalObject>();
  /** By the name of a Pod on this node how many endpoints name it. */
  readonly #named = new Map<string, number>();
  /** Undefined: what the API server sends is passed on unchanged. */
  #pods: LocalPods | undefined;

  constructor(options: CorrectorOptions) {
    this.#options = options;
  }

  /** See CorrectorOptions. */
  get isCurrent(): boolean {
    return this.#options.isCurrent();
  }

  /** Whether an endpoint names a Pod. @param pod see podName() */
  names(pod: string): boolean {
    return this.#named.has(pod);
  }

  /** Number of corrected endpoints. */
  get count(): number {
    return [...this.#objects.values()].reduce((sum, { corrections }) => sum + corrections.size, 0);
  }

  /** By the kind, namespace and name of each object its corrected endpoints, if it has any. */
  *counts(): Generator<[string, CorrectedCount], void, undefined> {
    for (const [key, { corrections }] of this.#objects) {
      const since = least(Array.from(corrections.values(), (correction) => correction.since));
      const object = `${this.#options.resource.kind} ${key}`;
      if (corrections.size > 0) yield [object, { count: corrections.size, since }];
    }
  }

  /** The first of the corrected endpoints. @param service `namespace/name`; absent: of all Services */
  corrections(most: number, service?: string): CorrectedEndpoint[] {
    const found: CorrectedEndpoint[] = [];
    for (const { facts, endpoints, corrections } of this.#objects.values()) {
      if (service !== undefined && service !== `${facts.namespace}/${facts.service}`) continue;
      for (const endpoint of endpoints) {
        if (found.length >= most) return found;
        const correction = corrections.get(endpoint.index);
        if (correction !== undefined) found.push(correctedEndpoint(facts, endpoint, correction));
      }
    }
    return found;
  }

  onChanges(changes: readonly Change<EndpointsFacts>[]): void {
    this.#options.next.onChanges(changes.map((change) => this.#take(change)));
  }

  onSynced(): void {
    this.#options.next.onSynced();
  }

  /** Corrects all objects, and those that arrive from now on. */
  correct(pods: LocalPods): void {
    if (this.#pods?.equals(pods)) return;
    this.#pods = pods;
    this.#passOn();
  }

  /** From now on, what the API server sends is passed on unchanged. Objects that it has not sent stay corrected. */
  stopCorrecting(): void {
    this.#pods = undefined;
  }

  /** Passes on what the API server sent last of every object. */
  restore(): void {
    this.#pods = undefined;
    this.#passOn();
  }

  /** Stores an object with endpoints of this node, and returns the change to pass on. */
  #take(change: Change<EndpointsFacts>): Change<EndpointsFacts> {
    const { key } = change;
    this.#count(this.#objects.get(key), -1);
    this.#objects.delete(key);
    if (change.type === 'DELETED') return change;
    const { object: raw, facts } = change;
    const endpoints = this.#localEndpoints(raw, facts);
    if (endpoints.length === 0) return change;
    const local: LocalObject = { raw, facts, endpoints, passed: raw, corrections: NONE };
    this.#objects.set(key, local);
    this.#count(local, 1);
    local.passed = this.#corrected(local);
    if (local.passed === raw) return change;
    return { ...change, object: local.passed, facts: this.#decode(local.passed) };
  }

  #count(local: LocalObject | undefined, change: 1 | -1): void {
    for (const { pod } of local?.endpoints ?? []) {
      const name = podName(pod);
      const count = (this.#named.get(name) ?? 0) + change;
      if (count === 0) this.#named.delete(name);
      else this.#named.set(name, count);
    }
  }

  #passOn(): void {
    const changes: Change<EndpointsFacts>[] = [];
    for (const [key, local] of this.#objects) {
      const object = this.#corrected(local);
      if (object.equals(local.passed)) continue;
      local.passed = object;
      changes.push({ type: 'MODIFIED', key, object, facts: this.#decode(object) });
    }
    if (changes.length > 0) this.#options.next.onChanges(changes);
  }

  /** The object as it is to be passed on. It is edited only if one of its corrections is another one than before. */
  #corrected(local: LocalObject): ObjectBytes {
    const { codec, resource } = this.#options;
    const corrections = this.#correctionsOf(local);
    const before = local.corrections;
    local.corrections = corrections;
    if (corrections.size === 0) return local.raw;
    const isKept = [...corrections].every(([index, each]) => before.get(index) === each);
    if (isKept && before.size === corrections.size) return local.passed;
    const edits = new Map(Array.from(corrections, ([index, { to }]) => [index, to]));
    return codec.edit(resource, local.raw, { corrections: edits });
  }

  /** A correction that was made before is kept, with its time. */
  #correctionsOf(local: LocalObject): ReadonlyMap<number, Correction> {
    const pods = this.#pods;
    if (pods === undefined) return NONE;
    const corrections = new Map<number, Correction>();
    for (const endpoint of local.endpoints) {
      const to = correctEndpoint(endpoint, pods);
      if (to === undefined) continue;
      const known = local.corrections.get(endpoint.index);
      const isKnown = known !== undefined && sameCorrection(known.to, to);
      corrections.set(endpoint.index, isKnown ? known : { to, since: this.#options.epoch() });
    }
    return corrections;
  }

  #localEndpoints(object: ObjectBytes, facts: EndpointsFacts): readonly PodEndpoint[] {
    const { codec, resource, nodeName } = this.#options;
    // Most objects have none, and are not decoded once more.
    const isLocal = facts.groups.some((group) =>
      group.endpoints.some(({ node }) => node === nodeName),
    );
    if (!isLocal) return [];
    const endpoints = podEndpoints(codec.endpointGroups(resource, object), nodeName);
    return endpoints.map((endpoint) => withNamespace(endpoint, facts));
  }

  #decode(object: ObjectBytes): EndpointsFacts {
    const { codec, resource } = this.#options;
    return codec.endpoints(resource, object);
  }
}

/** A reference without a namespace means that of its object. */
function withNamespace(endpoint: PodEndpoint, { namespace }: EndpointsFacts): PodEndpoint {
  if (endpoint.pod.namespace !== '') return endpoint;
  return { ...endpoint, pod: { ...endpoint.pod, namespace } };
}

function correctedValue(
  { address, state }: EndpointValue,
  correction: Exclude<EndpointCorrection, 'cut'>,
): EndpointValue {
  return {
    address: correction.address ?? address,
    state: correction.notReady === true ? 'notReady' : state,
  };
}

function sameCorrection(a: EndpointCorrection, b: EndpointCorrection): boolean {
  if (a === 'cut' || b === 'cut') return a === b;
  return a.address === b.address && a.notReady === b.notReady;
}

function correctedEndpoint(
  { name: object }: EndpointsFacts,
  { pod, address, state }: PodEndpoint,
  { to, since }: Correction,
): CorrectedEndpoint {
  const from = { address, state };
  const corrected = to === 'cut' ? undefined : correctedValue(from, to);
  return { object, pod: podName(pod), from, to: corrected, since };
}
