import type { ServiceFacts } from '../../src/filter/codec/codec.ts';
import { EndpointCache } from '../../src/filter/objects/endpoint-cache.ts';
import { nodesOfCommunity } from '../../src/node/own-watches/communities-handler.ts';
import { decidedPorts, describeService } from '../../src/node/own-watches/services-handler.ts';
import type { NodeProxyOptions } from '../../src/server/node-proxy.ts';
import type { EndpointGroup } from '../../src/topology/decide/endpoint.ts';
import { PolicyResolver } from '../../src/topology/policy/policy-resolver.ts';
import { namespacePolicyOf } from '../../src/topology/policy/service-policy.ts';
import { readerOf, readsSlice } from '../../src/topology/policy/service-reader.ts';
import type { Topology } from '../../src/topology/state/topology.ts';
import { Interner } from '../../src/util/interner.ts';
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
  const names = cluster.services.flatMap((facts) => {
    const name = nameOf(facts);
    return shared.policies.has(name) && wanted(name, facts) ? [name] : [];
  });
  const rows = rowsOf(cluster, shared, names.sort());
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

/** As EndpointIndex.ofService sorts them. */
function byName(a: SimulatedSlice, b: SimulatedSlice): number {
  return a.name < b.name ? -1 : 1;
}

function matchesAnyNode(topology: Topology, key: string): boolean {
  const match = topology.matchOf(key);
  return match !== undefined && (match.self || match.selectors.length > 0);
}

function rowsOf(
  { services, slices, nodes }: ClusterObjects,
  { policies }: SharedTopology,
  rows: readonly string[],
): SimulatedService[] {
  const readers = new Map(services.map((facts) => [nameOf(facts), readerOf(facts)]));
  const read = slices.filter((slice) => readsSlice(readers.get(serviceOf(slice)), slice.labels));
  const byService = Map.groupBy(read, serviceOf);
  const allByService = Map.groupBy(slices, serviceOf);
  const factsOf = new Map(services.map((facts) => [nameOf(facts), facts]));
  const names = new Set(nodes.map(({ name }) => name));
  // As in a view, equal endpoints are shared, so that each is matched once per node.
  const cache = new EndpointCache();
  const ports = new Interner<readonly string[]>();
  const intern = (group: EndpointGroup): EndpointGroup => ({
    ...group,
    ports: ports.intern(group.ports.join('\n'), () => group.ports),
    endpoints: group.endpoints.map((endpoint) => cache.intern(endpoint)),
  });
  return rows.map((name) => {
    const policy = policies.get(name) as SimulatedService['policy'];
    const own = (byService.get(name) ?? []).toSorted(byName);
    const facts = factsOf.get(name) as ServiceFacts;
    const all = allByService.get(name) ?? [];
    const unlabelled = allByService
      .get(`${facts.namespace}/`)
      ?.find((slice) => slice.name === facts.name);
    const ofService = { all, read: own, unlabelled };
    const sliceProblems = sliceProblemsOf(facts, ofService, (node) => names.has(node));
    return new SimulatedService(name, policy, own, {
      nodes: nodes.length,
      intern,
      sliceProblems,
    });
  });
}
