import type { Change } from '../../../src/filter/codec/change.ts';
import type { Codec, EndpointsFacts, ObjectBytes } from '../../../src/filter/codec/codec.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../../../src/filter/codec/resource.ts';
import { EndpointsProjection } from '../../../src/filter/projection/endpoints-projection.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import type { Policy } from '../../../src/topology/policy/policy.ts';
import { policyFor } from '../../../src/topology/policy/service-policy.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { NO_POLICY, PLAIN_TOPOLOGY, stillClock } from './topology.ts';

/** The cluster as the API server would have it. */
export interface ClusterModel {
  /** Labels of every node. */
  readonly nodes: Map<string, Record<string, string>>;
  /** The annotation topologyKeys of every Service; null: it has none. */
  readonly services: Map<string, string | null>;
  /** Raw objects of the collection under test. */
  readonly objects: Map<string, ObjectBytes>;
}

export const OWN_NODE = 'edge-1';

/**
 * A topology and a view driven by a model instead of an API server. Node sets are answered only when
 * {@link syncNodeSets} is called, as by a slow API server.
 */
export class ProjectionHarness {
  readonly topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName: OWN_NODE });
  readonly view: View;
  readonly projection: EndpointsProjection;
  readonly codec: Codec;
  readonly #resource: Resource;
  readonly #clock: VersionAllocator;
  readonly #model: ClusterModel;
  /** Node sets that were answered, each with the members sent so far. */
  readonly #sets = new Map<string, Set<string>>();

  constructor(codec: Codec, resource: Resource, model: ClusterModel, now: number) {
    this.codec = codec;
    this.#resource = resource;
    this.#model = model;
    this.#clock = new VersionAllocator(now);
    this.view = new View({
      resource,
      codec,
      versions: this.#clock,
      window: { entries: 1_000_000, bytes: 1 << 30 },
    });
    this.projection = new EndpointsProjection({
      view: this.view,
      topology: this.topology,
      clock: stillClock,
      reportsCloudOnly: false,
    });
    this.topology.subscribe({
      nodeSetsChanged: () => {
        for (const selector of this.#sets.keys()) {
          if (!this.topology.nodeSets.has(selector)) this.#sets.delete(selector);
        }
      },
    });
  }

  /** Sends everything, as the first lists would. */
  start(): void {
    this.setOwnLabels();
    this.setPolicies([...this.#model.services.keys()]);
    this.topology.setSynced('services');
    this.projection.onChanges(
      [...this.#model.objects].map(([key, object]) => this.#change('ADDED', key, object)),
    );
    this.projection.onSynced();
    this.syncNodeSets();
  }

  setOwnLabels(): void {
    const labels = this.#model.nodes.get(OWN_NODE);
    if (labels === undefined) return;
    this.topology.setOwnNode({ labels: new Map(Object.entries(labels)), annotations: new Map() });
  }

  setPolicies(services: readonly string[]): void {
    this.topology.setPolicies(new Map(services.map((service) => [service, this.#policy(service)])));
  }

  /** Sends one object as the model has it now. */
  sendObject(key: string, existed: boolean): void {
    const object = this.#model.objects.get(key);
    if (object !== undefined) {
      this.projection.onChanges([this.#change(existed ? 'MODIFIED' : 'ADDED', key, object)]);
    } else if (existed) {
      this.projection.onChanges([{ type: 'DELETED', key }]);
    }
  }

  /** Updates the node sets that were answered from the model, as their watches would. */
  followNodes(): void {
    for (const [selector, known] of this.#sets) this.#update(selector, known);
  }

  /** Answers wanted node sets until none is left. */
  syncNodeSets(): void {
    for (;;) {
      const next = [...this.topology.nodeSets.keys()].find((selector) => !this.#sets.has(selector));
      if (next === undefined) return;
      const known = new Set<string>();
      this.#sets.set(next, known);
      this.#update(next, known);
      this.topology.setNodeSetState(next);
    }
  }

  /** Closes the node sets that no policy needs, as after a minute. */
  closeLingering(): void {
    for (const { selector, needed } of [...this.topology.nodeSets.values()]) {
      if (!needed) this.topology.dropNodeSet(selector);
    }
  }

  #update(selector: string, known: Set<string>): void {
    const members = this.#membersOf(selector);
    const added = [...members].filter((node) => !known.has(node));
    const removed = [...known].filter((node) => !members.has(node));
    for (const node of added) known.add(node);
    for (const node of removed) known.delete(node);
    if (added.length + removed.length > 0) this.topology.changeNodeSet(selector, added, removed);
  }

  #membersOf(selector: string): Set<string> {
    const [key = '', value] = selector.split('=');
    const members = [...this.#model.nodes].filter(([, labels]) => labels[key] === value);
    return new Set(members.map(([name]) => name));
  }

  #policy(service: string): Policy | undefined {
    const annotation = this.#model.services.get(service);
    if (annotation === undefined) return undefined;
    const [namespace = '', name = ''] = service.split('/');
    return policyFor(
      {
        namespace,
        name,
        labels: new Map(),
        annotations: new Map(annotation === null ? [] : [['topologyKeys', annotation]]),
        headless: false,
        internalLocal: false,
        externalLocal: false,
      },
      NO_POLICY,
    );
  }

  #change(type: 'ADDED' | 'MODIFIED', key: string, object: ObjectBytes): Change<EndpointsFacts> {
    const facts = this.factsOf(object);
    this.#clock.observe(facts.resourceVersion);
    return { type, key, facts, object };
  }

  factsOf(object: ObjectBytes): EndpointsFacts {
    if (this.#resource === ENDPOINT_SLICES) return this.codec.endpointSlice(object);
    if (this.#resource === ENDPOINTS) return this.codec.endpoints(object);
    throw new Error(`not a collection of endpoints: ${this.#resource.plural}`);
  }
}
