import { nodeProxyOptions } from '../../config/node-proxy-options.ts';
import { loadSettings, type RawSettings } from '../../config/settings.ts';
import type { ServiceFacts } from '../../filter/codec/codec.ts';
import { matchesLabels } from '../../topology/policy/label-selector.ts';
import { withKubeClient } from '../client/kube-client.ts';
import { type Flags, textFlag, textFlags, UsageError } from '../command-line/flags.ts';
import { namespaceFlag, selectorFlag, serviceArgument } from '../command-line/service-argument.ts';
import { userKubeconfig } from '../command-line/user-kubeconfig.ts';
import { type ClusterObjects, readManifests } from './cluster-objects.ts';
import { readCluster } from './read-cluster.ts';
import type { SimulationSettings } from './simulation.ts';

/** Which Services a simulation includes. */
export type ServiceFilter = (service: string, facts: ServiceFacts) => boolean;

/** The settings of the file --config, and then what the flags change. */
export function readSettings(flags: Flags, raw: RawSettings = {}): SimulationSettings {
  return settingsOf(textFlag(flags, 'config'), raw);
}

export function settingsOf(file: string | undefined, raw: RawSettings = {}): SimulationSettings {
  return nodeProxyOptions(loadSettings({ nodeName: 'any', ...raw }, {}, file));
}

/** Reads the objects from --from, else from the cluster of the user's kubeconfig. Throws UsageError. */
export async function readInput(
  flags: Flags,
  { namespacePolicies, fabedgeCluster }: SimulationSettings,
): Promise<ClusterObjects> {
  const files = textFlags(flags, 'from');
  const isNamed = flags.kubeconfig !== undefined || flags.context !== undefined;
  if (files.length > 0 && isNamed) {
    throw new UsageError('give --from FILE or --kubeconfig FILE (or --context NAME), not both');
  }
  const optional = { namespaces: namespacePolicies, communities: fabedgeCluster !== undefined };
  const cluster =
    files.length === 0
      ? await withKubeClient(userKubeconfig(flags), (client) => readCluster(client, optional))
      : readManifests(files, flags.recursive === true);
  if (cluster.nodes.length > 0) return cluster;
  throw new UsageError('the input contains no Nodes, so there is nothing to simulate');
}

/** The Services that names, --namespace and --selector choose. Throws UsageError. */
export function serviceFilter(flags: Flags, names: readonly string[] = []): ServiceFilter {
  const namespace = namespaceFlag(flags);
  const selector = selectorFlag(flags);
  return (service, facts) =>
    (names.length === 0 || names.includes(service)) &&
    (namespace === undefined || facts.namespace === namespace) &&
    matchesLabels(selector, facts.labels);
}

/** Names of the argument and of --service, with their namespace. Throws UsageError. */
export function serviceNames(flags: Flags, args: readonly string[]): string[] {
  const given = [args, ...textFlags(flags, 'service').map((name) => [name])];
  return given.flatMap((each) => {
    const found = serviceArgument(each, flags);
    return found === undefined ? [] : [`${found.namespace}/${found.name}`];
  });
}
