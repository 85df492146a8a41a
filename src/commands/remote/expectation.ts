import type { Summary } from '../../admin/explain/summary.ts';
import { WrapperError } from '../../errors.ts';
import { outcomeLine, type ServiceOutcome } from '../../topology/state/service-outcome.ts';
import type { AdminClient } from '../client/admin-client.ts';
import type { KubeClient } from '../client/kube-client.ts';
import { readPages } from '../client/read-pages.ts';
import { type Finding, findingsOf } from '../simulate/findings.ts';
import { answerOn } from '../simulate/matrix.ts';
import { readCluster } from '../simulate/read-cluster.ts';
import { simulate } from '../simulate/simulation.ts';
import { settingsOf } from '../simulate/simulation-input.ts';
import { readWrapperConfig } from './wrapper-config.ts';
import type { WrapperPod } from './wrapper-pods.ts';

/** What simulate computes for each node, from the objects of the cluster and the settings of the wrapper. */
export interface Expectation {
  /** Why it cannot be computed; then the rest is empty. */
  readonly failure?: WrapperError;
  readonly nodes: readonly string[];
  readonly findings: readonly Finding[];
  /** Empty: the node does not exist. */
  outcomesOf(node: string): readonly ServiceOutcome[];
}

/**
 * Reads the cluster. Never rejects.
 *
 * @param config file with settings that replace those of the Pod
 * @param pod a Pod whose settings count
 */
export async function readExpectation(
  client: KubeClient,
  config: string | undefined,
  pod: WrapperPod | undefined,
): Promise<Expectation> {
  try {
    if (pod === undefined) throw new WrapperError('NotFound', 'no Pod of the wrapper runs');
    return await simulateCluster(client, config, pod);
  } catch (error) {
    const failure = WrapperError.from(error, 'Unreachable');
    return { failure, nodes: [], findings: [], outcomesOf: () => [] };
  }
}

async function simulateCluster(
  client: KubeClient,
  config: string | undefined,
  pod: WrapperPod,
): Promise<Expectation> {
  const raw = config === undefined ? await readWrapperConfig(client, pod) : {};
  const settings = settingsOf(config, raw);
  const simulation = simulate(await readCluster(client, settings), settings);
  const { nodes, services } = simulation;
  const indices = new Map(nodes.map((name, index) => [name, index]));
  return {
    nodes,
    findings: findingsOf(simulation),
    outcomesOf(node) {
      const index = indices.get(node);
      return index === undefined ? [] : services.map((service) => answerOn(service, index));
    },
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
  const seen = new Map(services.map((each) => [each.service, { ...each, kind: each.outcome }]));
  return expectation.outcomesOf(node).flatMap((expected) => {
    const sees = seen.get(expected.service);
    const should = outcomeLine(expected);
    if (expected.total === 0 && (sees?.total ?? 0) === 0) return [];
    const does = sees && outcomeLine(sees);
    return does === should ? [] : [`sees ${does ?? `no ${expected.service}`}, expected ${should}`];
  });
}
