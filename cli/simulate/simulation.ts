import type { ServiceFacts } from '../../src/filter/codec/codec.ts';
import { nodesOfCommunity } from '../../src/node/own-watches/communities-handler.ts';
import { decidedPorts, describeService } from '../../src/node/own-watches/services-handler.ts';
import type { NodeProxyOptions } from '../../src/server/node-proxy.ts';
import { PolicyResolver } from '../../src/topology/policy/policy-resolver.ts';
import { namespacePolicyOf } from '../../src/topology/policy/service-policy.ts';
import { readerOf, readsSlice } from '../../src/topology/policy/service-reader.ts';
import type { Topology } from '../../src/topology/state/topology.ts';
import type { ClusterObjects, SimulatedSlice } from './cluster-objects.ts';
import { SimulatedService } from './simulated-service.ts';
import {
  finderOf,
  nodeSetsOf,
  type SharedTopology,
  simulateTopology,
} from './simulated-topology.ts';
import { sliceProblemsOf } from './slice-problems.ts';

/*
 * The room `simulate`: what every node would see. It decides with the classes of the wrapper, and writes nothing.
 *   simulate-command.ts, simulation-input.ts                         the command, and what its flags choose
 *   read-manifests.ts, manifest-files.ts, read-cluster.ts            the objects, from files or a cluster
 *   mirrored-endpoints.ts                                            Endpoints in files
 *   simulation.ts, simulated-topology.ts, simulated-service.ts       the decisions
 *   findings.ts, slice-problems.ts, compare.ts                       what is wrong, and what changes
 *   matrix.ts, simulation-report.ts                                  all of it as text
 */

/** The settings that affect decisions. */
export type SimulationSettings = Pick<
  NodeProxyOptions,
  | 'policies'
  | 'topologyMatch'
  | 'namespacePolicies'
  | 'fabedgeCluster'
  | 'withholdsServices'
  | 'maxNodeSets'
>;

export interface Simulation {
  readonly nodes: readonly string[];
  readonly services: readonly SimulatedService[];
  /** Keys in use, except in a dry run, that match no node on any node, not even itself. */
  readonly emptyKeys: readonly string[];
  /** Keys of the labels of all nodes. */
  readonly labels: readonly string[];
}

/**
 * Computes what every node would see of every Service that kube-proxy watches.
 *
 * @param wanted whether a Service (`namespace/name`, and its facts) is included
 */
export function simulate(
  cluster: ClusterObjects,
  settings: SimulationSettings,
  wanted: (service: string, facts: ServiceFacts) => boolean = () => true,
): Simulation {
  const shared = sharedTopology(cluster, settings);
  const rows = rowsOf(cluster, shared, wanted);
  const keys = new Set<string>();
  for (const { policy } of rows) {
    if (policy.managed && policy.dryRun !== true) for (const key of policy.keys) keys.add(key);
  }
  const empty = new Set([...keys].filter((key) => key !== '*'));
  for (const [index, node] of cluster.nodes.entries()) {
    const topology = simulateTopology(node, shared);
    for (const key of empty) if (matchesAnyNode(topology, key)) empty.delete(key);
    for (const row of rows) row.decideOn(index, topology);
  }
  const nodes = cluster.nodes.map(({ name }) => name);
  const labels = new Set(cluster.nodes.flatMap((node) => [...node.labels.keys()]));
  return { nodes, services: rows, emptyKeys: [...empty], labels: [...labels] };
}

function sharedTopology(cluster: ClusterObjects, settings: SimulationSettings): SharedTopology {
  const { policies, topologyMatch, namespacePolicies, fabedgeCluster } = settings;
  const { withholdsServices, maxNodeSets } = settings;
  const resolver = new PolicyResolver({ ...policies, dryRun: false });
  for (const { name, annotations } of namespacePolicies ? cluster.namespaces : []) {
    resolver.setNamespace(name, namespacePolicyOf(annotations));
  }
  const declaredCommunities = fabedgeCluster !== undefined;
  const included = cluster.services.filter(isIncluded(settings));
  return {
    options: {
      topologyMatch,
      declaredCommunities,
      withholdsServices,
      maxNodeSets,
      nodeFinder: finderOf(cluster.nodes),
    },
    communities: new Map(
      cluster.communities.map((each) => [each.name, nodesOfCommunity(each, fabedgeCluster ?? '')]),
    ),
    policies: new Map(
      included.map((facts) => [nameOf(facts), resolver.setService(describeService(facts))]),
    ),
    ports: new Map(included.map((facts) => [nameOf(facts), decidedPorts(facts)])),
    membersOf: nodeSetsOf(cluster.nodes),
  };
}

/** Whether the simulation includes a Service: kube-proxy reads it, or it is headless and may have a policy. */
function isIncluded({ policies }: SimulationSettings) {
  return (facts: ServiceFacts): boolean => {
    const reader = readerOf(facts);
    return reader === 'kube-proxy' || (reader === 'dns' && policies.headless);
  };
}

function nameOf({ namespace, name }: ServiceFacts): string {
  return `${namespace}/${name}`;
}

function serviceOf({ namespace, service }: SimulatedSlice): string {
  return `${namespace}/${service}`;
}

function matchesAnyNode(topology: Topology, key: string): boolean {
  const match = topology.matchOf(key);
  return match !== undefined && (match.self || match.selectors.length > 0);
}

/** The Services that kube-proxy watches and that are wanted, sorted by name. */
function rowsOf(
  { services, slices, nodes }: ClusterObjects,
  { policies }: SharedTopology,
  wanted: (service: string, facts: ServiceFacts) => boolean,
): SimulatedService[] {
  const byService = Map.groupBy(slices, serviceOf);
  const names = new Set(nodes.map(({ name }) => name));
  const rows = services.flatMap((facts) => {
    const name = nameOf(facts);
    const policy = policies.get(name);
    if (policy === undefined || !wanted(name, facts)) return [];
    const all = byService.get(name) ?? [];
    const read = all.filter(({ labels }) => readsSlice(readerOf(facts), labels));
    const unlabelled = byService
      .get(`${facts.namespace}/`)
      ?.find((each) => each.name === facts.name);
    const problems = sliceProblemsOf(facts, { all, read, unlabelled }, (node) => names.has(node));
    return new SimulatedService(name, policy, read.toSorted(byName), problems, nodes.length);
  });
  return rows.sort((a, b) => (a.service < b.service ? -1 : 1));
}

/** As EndpointIndex.ofService sorts them. */
function byName(a: SimulatedSlice, b: SimulatedSlice): number {
  return a.name < b.name ? -1 : 1;
}
