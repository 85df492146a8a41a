import type { LabelledObject } from '../../filter/codec/codec.ts';
import { matchesLabels, parseLabelSelector } from '../../topology/policy/label-selector.ts';
import type { Policy } from '../../topology/policy/policy.ts';
import { type Communities, World, type WorldOptions } from '../../topology/state/topology.ts';

/** What all worlds of a simulation share. */
export interface SharedWorld {
  readonly options: Omit<WorldOptions, 'nodeName' | 'namespaces'>;
  readonly communities: Communities;
  readonly policies: ReadonlyMap<string, Policy>;
  /** Services with an endpoint that names a node but no zone. */
  readonly zoneless: readonly string[];
  readonly members: NodeSetMembers;
}

/** Answers label selectors from the nodes, as the API server would, each once. */
export class NodeSetMembers {
  readonly #nodes: readonly LabelledObject[];
  readonly #known = new Map<string, readonly string[]>();

  constructor(nodes: readonly LabelledObject[]) {
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
export function simulateWorld(node: LabelledObject, shared: SharedWorld): World {
  const { options, communities, policies, zoneless, members } = shared;
  const world = new World({ ...options, nodeName: node.name, namespaces: false });
  if (options.declaredCommunities) world.setCommunities(communities);
  world.setOwnNode(node);
  world.setZoneless(
    shared,
    zoneless.map((service) => [service, true] as const),
  );
  world.setPolicies(policies);
  world.setSynced('services');
  for (;;) {
    const waiting = [...world.nodeSets.values()].filter(({ state }) => state === 'syncing');
    if (waiting.length === 0) return world;
    for (const { selector } of waiting) {
      world.changeNodeSet(selector, members.of(selector), []);
      world.setNodeSetState(selector);
    }
  }
}
