import type { PartialObjectMetadata } from '../../filter/codec/codec.ts';
import { matchesLabels, parseLabelSelector } from '../../topology/policy/label-selector.ts';
import type { Policy } from '../../topology/policy/policy.ts';
import { type Communities, Topology, type TopologyOptions } from '../../topology/state/topology.ts';

/** What all worlds of a simulation share. */
export interface SharedTopology {
  readonly options: Omit<TopologyOptions, 'nodeName' | 'namespaces'>;
  readonly communities: Communities;
  readonly policies: ReadonlyMap<string, Policy>;
  /** Services with an endpoint that names a node but no zone. */
  readonly zoneless: readonly string[];
  readonly members: NodeSetMembers;
}

/** Answers label selectors from the nodes, as the API server would, each once. */
export class NodeSetMembers {
  readonly #nodes: readonly PartialObjectMetadata[];
  readonly #known = new Map<string, readonly string[]>();

  constructor(nodes: readonly PartialObjectMetadata[]) {
    this.#nodes = nodes;
  }

  of(selector: string): readonly string[] {
    const known = this.#known.get(selector);
    if (known !== undefined) return known;
    const parsed = parseLabelSelector(selector);
    const members = this.#nodes.filter(({ labels }) => matchesLabels(parsed, labels));
    const names = members.map(({ name }) => name);
    this.#known.set(selector, names);
    return names;
  }
}

/** The world as the wrapper on a node would know it, settled: the same World that decides there. */
export function simulateTopology(node: PartialObjectMetadata, shared: SharedTopology): Topology {
  const { options, communities, policies, zoneless, members } = shared;
  const topology = new Topology({ ...options, nodeName: node.name, namespaces: false });
  if (options.declaredCommunities) topology.setCommunities(communities);
  topology.setOwnNode(node);
  topology.setServicesWithoutZone(
    shared,
    zoneless.map((service) => [service, true] as const),
  );
  topology.setPolicies(policies);
  topology.setSynced('services');
  for (;;) {
    const waiting = [...topology.nodeSets.values()].filter(({ state }) => state === 'syncing');
    if (waiting.length === 0) return topology;
    for (const { selector } of waiting) {
      topology.changeNodeSet(selector, members.of(selector), []);
      topology.setNodeSetState(selector);
    }
  }
}
