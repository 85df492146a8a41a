import type { PartialObjectMetadata } from '../../src/filter/codec/codec.ts';
import { matchesLabels, parseLabelSelector } from '../../src/topology/policy/label-selector.ts';
import type { Policy } from '../../src/topology/policy/policy.ts';
import { ZONE_KEY } from '../../src/topology/policy/topology-keys.ts';
import type { NodeFinder } from '../../src/topology/state/node-lookups.ts';
import type { NodeSetWatcher } from '../../src/topology/state/node-set.ts';
import {
  type Communities,
  Topology,
  type TopologyOptions,
} from '../../src/topology/state/topology.ts';

/** The parts that the topologies of all nodes share. */
export interface SharedTopology {
  readonly options: Omit<TopologyOptions, 'nodeName' | 'namespaces' | 'nodeSetWatcher'>;
  readonly communities: Communities;
  readonly policies: ReadonlyMap<string, Policy>;
  /** The ports that count, of each Service; undefined: the ports of its slices. */
  readonly ports: ReadonlyMap<string, readonly string[] | undefined>;
  /** Names of the nodes that a label selector matches. */
  readonly membersOf: (selector: string) => readonly string[];
}

/** Evaluates label selectors on the nodes like the API server, each one once. */
export function nodeSetsOf(nodes: readonly PartialObjectMetadata[]): SharedTopology['membersOf'] {
  const known = new Map<string, readonly string[]>();
  return (selector) => {
    let names = known.get(selector);
    if (names === undefined) {
      const parsed = parseLabelSelector(selector);
      const members = nodes.filter(({ labels }) => matchesLabels(parsed, labels));
      names = members.map(({ name }) => name);
      known.set(selector, names);
    }
    return names;
  };
}

/** The Topology of one node, with all node sets synced. It is the same class that decides on the node. */
export function simulateTopology(node: PartialObjectMetadata, shared: SharedTopology): Topology {
  const { options, communities, policies, ports, membersOf } = shared;
  const topology = new Topology({
    ...options,
    nodeName: node.name,
    namespaces: false,
    nodeSetWatcher: NOT_WATCHED,
  });
  if (options.declaredCommunities) topology.setCommunities(communities);
  topology.setOwnNode(node);
  topology.setPolicies(policies, ports);
  for (;;) {
    const waiting = [...topology.nodeSets.values()].filter(({ state }) => state === 'syncing');
    if (waiting.length === 0) return topology;
    for (const set of waiting) {
      set.change(membersOf(set.selector), []);
      set.sync();
    }
  }
}

/** No time passes. */
const STILL = { now: () => 0, after: () => () => undefined };

/** All Nodes of the input are known. Those that slices name besides do not exist. */
export function finderOf(nodes: readonly PartialObjectMetadata[]): NodeFinder {
  return {
    clock: STILL,
    known: new Map(nodes.map(({ name, labels }) => [name, labels.get(ZONE_KEY) ?? ''])),
    find: () => undefined,
    onTooMany: () => undefined,
  };
}

/** The members of node sets are passed in. */
const NOT_WATCHED: NodeSetWatcher = {
  clock: STILL,
  open: () => ({ status: { connected: false }, close: () => Promise.resolve() }),
  onOverLimit: () => undefined,
};
