import { EndpointCache } from '../../filter/codec/endpoint-cache.ts';
import { Interner } from '../../filter/projection/interner.ts';
import { CommunitiesHandler } from '../../proxy/cluster/communities-handler.ts';
import { describeService } from '../../proxy/cluster/services-handler.ts';
import type { NodeProxyOptions } from '../../proxy/node-proxy.ts';
import type { Endpoint, EndpointGroup } from '../../topology/decide/endpoint.ts';
import type { OutcomeKind } from '../../topology/explain/explanation.ts';
import type { Policy } from '../../topology/policy/policy.ts';
import { PolicyResolver } from '../../topology/policy/policy-resolver.ts';
import {
  filterOf,
  PROXY_NAME_LABEL,
  TOPOLOGY_KEYS_ANNOTATION,
} from '../../topology/policy/service-policy.ts';
import type { Communities, Topology } from '../../topology/state/topology.ts';
import { hasEndpointWithoutZone } from '../../topology/state/without-zone.ts';
import type { ClusterObjects, SimulatedSlice } from './cluster-objects.ts';
import { NodeSetMembers, type SharedTopology, simulateTopology } from './simulated-topology.ts';

/** The settings that bear on decisions. */
export type SimulationSettings = Pick<
  NodeProxyOptions,
  'policies' | 'topologyMatch' | 'namespacePolicies' | 'fabedgeCluster' | 'cloudPassthrough'
>;

/** What nodes see of a Service, if they see the same. */
export interface Answer {
  readonly outcome: OutcomeKind;
  /** Keys that won, each once. */
  readonly winners: readonly string[];
  /** Indices of the endpoints that are shown. */
  readonly shown: readonly number[];
  /** Those of {@link SimulatedService.ports} of which a policy leaves no usable endpoint. */
  readonly lost: readonly string[];
}

export interface SimulatedEndpoint extends Endpoint {
  readonly address: string;
}

/** A row of the matrix. */
export interface SimulatedService {
  readonly service: string;
  readonly policy: Policy;
  readonly endpoints: readonly SimulatedEndpoint[];
  /** `<family> <protocol>/<name>` of each address family and port with an endpoint that kube-proxy could use. */
  readonly ports: readonly string[];
  /** Different answers; `byNode` holds an index into it for each node. */
  readonly answers: readonly Answer[];
  readonly byNode: Uint32Array;
}

export interface Simulation {
  readonly nodes: readonly string[];
  readonly services: readonly SimulatedService[];
  /** Keys in use by which no node is related to any, not even to itself. */
  readonly emptyKeys: readonly string[];
}

/**
 * What every node would see of every Service that kube-proxy asks for.
 *
 * @param wanted whether a Service (`namespace/name`) is of interest
 */
export function simulate(
  cluster: ClusterObjects,
  settings: SimulationSettings,
  wanted: (service: string) => boolean = () => true,
): Simulation {
  const shared = shareWorld(cluster, settings);
  const rows = rowsOf(cluster, shared.policies, wanted);
  const keys = new Set<string>();
  for (const { policy } of rows) if (policy.managed) for (const key of policy.keys) keys.add(key);
  const empty = new Set([...keys].filter((key) => key !== '*'));
  for (const [index, node] of cluster.nodes.entries()) {
    const topology = simulateTopology(node, shared);
    for (const key of empty) if (isRelated(topology, key)) empty.delete(key);
    for (const row of rows) row.add(index, topology);
  }
  const nodes = cluster.nodes.map(({ name }) => name);
  return { nodes, services: rows.map((row) => row.finish()), emptyKeys: [...empty] };
}

function shareWorld(cluster: ClusterObjects, settings: SimulationSettings): SharedTopology {
  const { policies, topologyMatch, namespacePolicies, fabedgeCluster, cloudPassthrough } = settings;
  const book = new PolicyResolver({ ...policies, dryRun: false });
  for (const { name, annotations } of namespacePolicies ? cluster.namespaces : []) {
    const keys = annotations.get(TOPOLOGY_KEYS_ANNOTATION);
    book.setNamespace(name, { keys, filter: filterOf(annotations) });
  }
  const declaredCommunities = fabedgeCluster !== undefined;
  return {
    options: { topologyMatch, declaredCommunities, cloudPassthrough },
    communities: communitiesOf(cluster, fabedgeCluster ?? ''),
    policies: new Map(
      cluster.services.filter(isAskedFor(settings)).map((facts) => {
        const policy = book.setService(describeService(facts));
        return [`${facts.namespace}/${facts.name}`, policy] as const;
      }),
    ),
    zoneless: [
      ...new Set(
        cluster.slices.filter(({ groups }) => hasEndpointWithoutZone(groups)).map(serviceOf),
      ),
    ],
    members: new NodeSetMembers(cluster.nodes),
  };
}

/** As kube-proxy asks: none that another proxy serves by its label, none that is headless or elsewhere. */
function isAskedFor({ policies }: SimulationSettings) {
  return ({ labels, type, clusterIP }: ClusterObjects['services'][number]): boolean => {
    if (labels.has(PROXY_NAME_LABEL)) return false;
    return type !== 'ExternalName' && (clusterIP !== 'None' || policies.headless);
  };
}

function communitiesOf({ communities }: ClusterObjects, cluster: string): Communities {
  let told: Communities = new Map();
  const listener = {
    setCommunities(all: Communities) {
      told = all;
    },
  };
  const object = Buffer.alloc(0);
  new CommunitiesHandler(listener, cluster).onChanges(
    communities.map((facts) => ({ type: 'ADDED', key: facts.name, facts, object })),
  );
  return told;
}

function serviceOf({ namespace, service }: SimulatedSlice): string {
  return `${namespace}/${service}`;
}

function isRelated(topology: Topology, key: string): boolean {
  const relation = topology.matchOf(key);
  return relation !== undefined && (relation.self || relation.selectors.length > 0);
}

function rowsOf(
  { slices }: ClusterObjects,
  policies: ReadonlyMap<string, Policy>,
  wanted: (service: string) => boolean,
): Row[] {
  const byService = Map.groupBy(slices, serviceOf);
  // As in a view: what is the same to a decision is related to a node once.
  const cache = new EndpointCache();
  const ports = new Interner<readonly string[]>();
  const intern = (group: EndpointGroup): EndpointGroup => ({
    ports: ports.of(group.ports.join('\n'), () => group.ports),
    endpoints: group.endpoints.map(({ family, node, zone, state }) =>
      cache.intern(family, node, zone, state),
    ),
  });
  const names = [...policies.keys()].filter(wanted).sort();
  return names.map((name) => {
    return new Row(name, policies.get(name) as Policy, byService.get(name) ?? [], intern);
  });
}

/** One Service, while nodes are added. */
class Row {
  readonly service: string;
  readonly policy: Policy;
  readonly #groups: readonly EndpointGroup[];
  readonly #endpoints: readonly SimulatedEndpoint[];
  readonly #usable: ReadonlyMap<string, readonly number[]>;
  readonly #answers = new Map<string, { readonly index: number; readonly answer: Answer }>();
  readonly #byNode: number[] = [];

  constructor(
    service: string,
    policy: Policy,
    slices: readonly SimulatedSlice[],
    intern: (group: EndpointGroup) => EndpointGroup,
  ) {
    this.service = service;
    this.policy = policy;
    this.#groups = slices.flatMap(({ groups }) => groups.map(intern));
    this.#endpoints = slices.flatMap(({ groups, addresses }) =>
      groups
        .flatMap(({ endpoints }) => endpoints)
        .map((endpoint, index) => ({ ...endpoint, address: addresses[index] ?? '' })),
    );
    this.#usable = usableByPort(this.#groups);
  }

  add(node: number, topology: Topology): void {
    const policy = topology.policyInForce(this.service);
    let outcome: OutcomeKind = 'unfiltered';
    let keep: Uint8Array | undefined;
    let winners: string[] = [];
    if (policy?.managed === true) {
      const decision = topology.decide(this.#groups, policy);
      outcome = topology.isCloudOnly(policy, decision) ? 'withheld' : 'filtered';
      keep = decision.keep;
      winners = winnersOf(policy.keys, decision.ports);
    } else if (policy?.reason === 'other-proxy') {
      outcome = 'hidden';
    }
    const id = `${outcome} ${winners.join()} ${keep === undefined ? '' : Buffer.from(keep.buffer).toString('latin1')}`;
    let known = this.#answers.get(id);
    if (known === undefined) {
      const lost = outcome === 'filtered' ? this.#lost(keep) : [];
      const answer = { outcome, winners, shown: this.#shown(outcome, keep), lost };
      known = { index: this.#answers.size, answer };
      this.#answers.set(id, known);
    }
    this.#byNode[node] = known.index;
  }

  finish(): SimulatedService {
    return {
      service: this.service,
      policy: this.policy,
      endpoints: this.#endpoints,
      ports: [...this.#usable.keys()],
      answers: Array.from(this.#answers.values(), ({ answer }) => answer),
      byNode: Uint32Array.from(this.#byNode),
    };
  }

  #shown(outcome: OutcomeKind, keep: Uint8Array | undefined): number[] {
    if (outcome === 'hidden' || outcome === 'withheld') return [];
    const all = [...this.#endpoints.keys()];
    return keep === undefined ? all : all.filter((index) => keep[index] === 1);
  }

  #lost(keep: Uint8Array | undefined): string[] {
    const ports = [...this.#usable];
    return ports.flatMap(([port, indices]) =>
      indices.some((index) => keep?.[index] === 1) ? [] : [port],
    );
  }
}

/** Indices of the endpoints that are ready or serving, by address family and port. */
function usableByPort(groups: readonly EndpointGroup[]): Map<string, number[]> {
  const usable = new Map<string, number[]>();
  let index = 0;
  for (const { ports, endpoints } of groups) {
    const names = ports.length === 0 ? ['without port'] : ports;
    for (const { family, state } of endpoints) {
      for (const name of state === 'notReady' ? [] : names) {
        const port = `${family} ${name}`;
        const indices = usable.get(port);
        if (indices === undefined) usable.set(port, [index]);
        else indices.push(index);
      }
      index++;
    }
  }
  return usable;
}

function winnersOf(keys: readonly string[], ports: readonly { readonly key: number }[]): string[] {
  const winners: string[] = [];
  for (const { key } of ports) {
    const name = keys[key];
    if (name !== undefined && !winners.includes(name)) winners.push(name);
  }
  return winners;
}
