import type { Codec, EndpointsFacts, ObjectBytes } from '../../filter/codec/codec.ts';
import type { Change, ChangeHandler } from '../../filter/objects/change.ts';
import {
  type EndpointCorrection,
  type PodEndpoint,
  podEndpoints,
} from '../../filter/objects/pod-endpoint.ts';
import type { Resource } from '../../filter/objects/resource.ts';
import type { EndpointState } from '../../topology/decide/endpoint.ts';
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

/** An object with endpoints of Pods on this node. */
interface LocalObject {
  /** As the API server sent it last. */
  readonly raw: ObjectBytes;
  readonly facts: EndpointsFacts;
  /** Corrections of Pods on this node. */
  readonly endpoints: readonly PodEndpoint[];
  /** As the next handler has it; `raw` itself if nothing is corrected. */
  passed: ObjectBytes;
  corrections: readonly CorrectedEndpoint[];
}

/**
 * A stage between the reflector of EndpointSlices or Endpoints and their projection. It passes every change on, and
 * keeps the objects with endpoints of Pods on this node. With {@link correct} they are corrected from the container
 * runtime, as changes of their own; {@link restore} passes on what the API server sent.
 *
 * Invariants: the next handler has the API server's object, or that object with endpoints of Pods on this node
 * corrected. What the API server sends after {@link stopCorrecting} or {@link restore} is passed on unchanged. An
 * object that does not change is not passed on again.
 */
export class Corrector implements ChangeHandler<EndpointsFacts> {
  readonly #options: CorrectorOptions;
  readonly #objects = new Map<string, LocalObject>();
  /** Undefined: what the API server sends is passed on unchanged. */
  #pods: LocalPods | undefined;

  constructor(options: CorrectorOptions) {
    this.#options = options;
  }

  /** See CorrectorOptions. */
  get isCurrent(): boolean {
    return this.#options.isCurrent();
  }

  /** `namespace/name` of the Pods on this node that endpoints name. */
  podNames(): Set<string> {
    const endpoints = [...this.#objects.values()].flatMap((local) => local.endpoints);
    return new Set(endpoints.map(({ pod }) => podName(pod)));
  }

  /** The corrected endpoints. @param service `namespace/name`; absent: of all Services */
  corrections(service?: string): CorrectedEndpoint[] {
    const found: CorrectedEndpoint[] = [];
    for (const { facts, corrections } of this.#objects.values()) {
      const isWanted = service === undefined || service === `${facts.namespace}/${facts.service}`;
      if (isWanted) for (const correction of corrections) found.push(correction);
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
    this.#pods = pods;
    this.#passOn((object) => this.#corrected(object, pods));
  }

  /** From now on, what the API server sends is passed on unchanged. Objects that it has not sent stay corrected. */
  stopCorrecting(): void {
    this.#pods = undefined;
  }

  /** Passes on what the API server sent last of every object. */
  restore(): void {
    this.#pods = undefined;
    this.#passOn(({ raw }) => ({ object: raw, corrections: [] }));
  }

  /** Stores an object with endpoints of this node, and returns the change to pass on. */
  #take(change: Change<EndpointsFacts>): Change<EndpointsFacts> {
    const { key } = change;
    const before = this.#objects.get(key);
    this.#objects.delete(key);
    if (change.type === 'DELETED') return change;
    const { object: raw, facts } = change;
    const endpoints = this.#localEndpoints(raw, facts);
    if (endpoints.length === 0) return change;
    const corrections = before?.corrections ?? [];
    const local: LocalObject = { raw, facts, endpoints, passed: raw, corrections };
    this.#objects.set(key, local);
    const corrected = this.#pods && this.#corrected(local, this.#pods);
    local.corrections = corrected?.corrections ?? [];
    if (corrected === undefined || corrected.object === raw) return change;
    local.passed = corrected.object;
    return { ...change, object: corrected.object, facts: this.#decode(corrected.object) };
  }

  #passOn(
    make: (object: LocalObject) => Pick<LocalObject, 'corrections'> & { object: ObjectBytes },
  ): void {
    const changes: Change<EndpointsFacts>[] = [];
    for (const [key, local] of this.#objects) {
      const { object, corrections } = make(local);
      local.corrections = corrections;
      if (object.equals(local.passed)) continue;
      local.passed = object;
      changes.push({ type: 'MODIFIED', key, object, facts: this.#decode(object) });
    }
    if (changes.length > 0) this.#options.next.onChanges(changes);
  }

  #corrected(local: LocalObject, pods: LocalPods) {
    const { codec, resource } = this.#options;
    const records: CorrectedEndpoint[] = [];
    const corrections = new Map<number, EndpointCorrection>();
    for (const endpoint of local.endpoints) {
      const correction = correctEndpoint(endpoint, pods);
      if (correction === undefined) continue;
      records.push(this.#record(local, endpoint, correction));
      corrections.set(endpoint.index, correction);
    }
    const object = codec.edit(resource, local.raw, { corrections });
    return { object, corrections: records };
  }

  #record(
    local: LocalObject,
    { pod, address, state }: PodEndpoint,
    correction: EndpointCorrection,
  ): CorrectedEndpoint {
    const from = { address, state };
    const to = correction === 'cut' ? undefined : correctedValue(from, correction);
    const same = local.corrections.find(
      (each) => each.pod === podName(pod) && sameValue(each.from, from) && sameValue(each.to, to),
    );
    const since = same?.since ?? this.#options.epoch();
    return { object: local.facts.name, pod: podName(pod), from, to, since };
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

function sameValue(a: EndpointValue | undefined, b: EndpointValue | undefined): boolean {
  return a?.address === b?.address && a?.state === b?.state;
}
