import type { Summary } from '../../admin/explain/summary.ts';
import { outcomesHash } from '../../admin/status/outcomes-hash.ts';
import { outcomeLine, type ServiceOutcome } from '../../topology/state/service-outcome.ts';
import type { AdminClient } from '../client/admin-client.ts';
import type { KubeClient } from '../client/kube-client.ts';
import { readPages } from '../node/paged.ts';
import { type Finding, findingsOf } from '../simulate/findings.ts';
import { answerOn } from '../simulate/matrix.ts';
import { readCluster } from '../simulate/read-cluster.ts';
import { type Simulation, simulate } from '../simulate/simulation.ts';
import { settingsOf } from '../simulate/simulation-input.ts';
import { readWrapperConfig } from './wrapper-config.ts';
import type { WrapperPod } from './wrapper-pods.ts';

/** What simulate computes for each node, from the objects of the cluster and the settings of the wrapper. */
export interface Expectation {
  readonly nodes: readonly string[];
  readonly findings: readonly Finding[];
  /** Empty: the node does not exist. */
  outcomesOf(node: string): readonly ServiceOutcome[];
  /** As in {@link NodeStatus.outcomes}. */
  hashOf(node: string): string;
}

/** Reads the cluster. @param config settings that replace those of the Pod */
export async function readExpectation(
  client: KubeClient,
  config: string | undefined,
  pod: WrapperPod,
): Promise<Expectation> {
  const raw = config === undefined ? await readWrapperConfig(client, pod) : {};
  const settings = settingsOf(config, raw);
  const { namespacePolicies: namespaces, fabedgeCluster } = settings;
  const optional = { namespaces, communities: fabedgeCluster !== undefined };
  const simulation = simulate(await readCluster(client, optional), settings);
  return expectationFrom(simulation);
}

function expectationFrom(simulation: Simulation): Expectation {
  const { nodes, services } = simulation;
  const indices = new Map(nodes.map((name, index) => [name, index]));
  const outcomesOf = (node: string): ServiceOutcome[] => {
    const index = indices.get(node);
    if (index === undefined) return [];
    return services.map((service) => answerOn(service, index));
  };
  return {
    nodes,
    findings: findingsOf(simulation),
    outcomesOf,
    hashOf: (node) => outcomesHash(outcomesOf(node)),
  };
}

/** The Services that a node does not see as expected, each as `default/web sees 1/2 hostname, expected 1/2 site`. */
export async function compareNode(
  admin: AdminClient,
  node: string,
  expectation: Expectation,
): Promise<string[]> {
  const query = new URLSearchParams();
  const { services } = await readPages<Summary, 'services'>(admin, '/explain', 'services', query);
  const seen = new Map(
    services.map(({ outcome: kind, ...each }) => [each.service, { ...each, kind }]),
  );
  return expectation.outcomesOf(node).flatMap((expected) => {
    const sees = seen.get(expected.service);
    const should = outcomeLine(expected);
    if (expected.total === 0 && (sees?.total ?? 0) === 0) return [];
    const does = sees && outcomeLine(sees);
    return does === should ? [] : [`sees ${does ?? `no ${expected.service}`}, expected ${should}`];
  });
}
