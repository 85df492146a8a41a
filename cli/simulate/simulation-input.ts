import { nodeProxyOptions } from '../../src/config/node-proxy-options.ts';
import { loadSettings, type RawSettings } from '../../src/config/settings.ts';
import { WrapperError } from '../../src/errors.ts';
import type { ServiceFacts } from '../../src/filter/codec/codec.ts';
import { matchesLabels, parseLabelSelector } from '../../src/topology/policy/label-selector.ts';
import { withKubeClient } from '../client/kube-client.ts';
import { type ServiceFlags, serviceArgument } from '../command-line/service-argument.ts';
import { UsageError } from '../command-line/usage-error.ts';
import { type KubeconfigFlags, userKubeconfig } from '../command-line/user-kubeconfig.ts';
import type { ClusterObjects } from './cluster-objects.ts';
import { assertAllKinds } from './manifest-files.ts';
import { readCluster } from './read-cluster.ts';
import { readManifests } from './read-manifests.ts';
import type { SimulationSettings } from './simulation.ts';

/** Which Services a simulation includes. */
export type ServicePredicate = (service: string, facts: ServiceFacts) => boolean;

/** Flags that name the objects of a simulation. */
export interface InputFlags extends KubeconfigFlags {
  /** Files, folders, or `-`. */
  readonly from?: readonly string[];
  readonly recursive?: boolean;
}

export function settingsOf(file: string | undefined, raw: RawSettings = {}): SimulationSettings {
  return nodeProxyOptions(loadSettings({ nodeName: 'any', ...raw }, {}, file));
}

/** Reads the objects from --from, else from the cluster of the user's kubeconfig. Throws if something is missing. */
export async function readInput(
  flags: InputFlags,
  settings: SimulationSettings,
): Promise<ClusterObjects> {
  if (flags.from !== undefined) return readFiles('--from', flags.from, flags.recursive);
  const cluster = await withKubeClient(userKubeconfig(flags), (client) =>
    readCluster(client, settings),
  );
  if (cluster.nodes.length > 0) return cluster;
  throw new WrapperError('NotFound', 'the cluster has no Nodes, so there is nothing to simulate');
}

/** Reads a whole cluster from the files of a flag. Throws `InvalidSettings` if a kind is missing. */
export function readFiles(
  flag: string,
  paths: readonly string[],
  recursive?: boolean,
): ClusterObjects {
  const cluster = readManifests(paths, recursive);
  assertAllKinds(flag, paths, {
    Node: cluster.nodes.length,
    Service: cluster.services.length,
    EndpointSlice: cluster.slices.length,
  });
  return cluster;
}

/** The Services that names, --namespace and --selector choose. */
export function servicePredicate(
  { namespace, selector: text }: ServiceFlags,
  names: readonly string[],
): ServicePredicate {
  const selector = text === undefined ? [] : parseLabelSelector(text);
  return (service, facts) =>
    (names.length === 0 || names.includes(service)) &&
    (namespace === undefined || facts.namespace === namespace) &&
    matchesLabels(selector, facts.labels);
}

/** Names of the argument and of --service, with their namespace. Throws UsageError. */
export function serviceNames(
  flags: ServiceFlags & { readonly service?: readonly string[] },
  args: readonly string[],
): string[] {
  // No name of a Service has a dot.
  const file = args.find((arg) => arg === '-' || arg.includes('.'));
  if (file !== undefined)
    throw new UsageError(`${file} is not a Service; read a file with --from ${file}`);
  const given = [args, ...(flags.service ?? []).map((name) => [name])];
  return given.flatMap((each) => {
    const found = serviceArgument(each, flags);
    return found === undefined ? [] : [`${found.namespace}/${found.name}`];
  });
}
