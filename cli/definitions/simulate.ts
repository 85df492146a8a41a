import { Option } from 'commander';
import type { Command } from '../command-line/command.ts';
import type { SimulateFlags } from '../simulate/simulate-command.ts';
import {
  ALL_NAMESPACES,
  kubeconfigFlags,
  listFlag,
  NAMESPACE,
  NO_HEADERS,
  outputFlag,
  SELECTOR,
} from './flags.ts';

/** `kube-proxy-wrapper simulate`. */
export const simulate: Command<SimulateFlags> = {
  name: 'simulate',
  summary: 'show what every node would see, and mistakes in policies, before a rollout',
  description: `Shows, before a rollout, which endpoints of each Service every node would see. It uses the same code as the wrapper on
the nodes, and does not write anything. Below are its findings: mistakes in policies, and what to do about them.`,
  usage: [
    ['[flags]', 'the cluster of $KUBECONFIG or ~/.kube/config, read once'],
    ['[NAMESPACE/]SERVICE [flags]', 'one Service, with details'],
    ['--from FILE... [flags]', 'Nodes, Services, EndpointSlices from manifests'],
  ],
  flags: [
    listFlag(
      '-f, --from <FILE>',
      'YAML or JSON from kubectl get -o yaml: a file, a folder, or - for standard input. If an object occurs more than once, the last one counts',
    ).conflicts(['kubeconfig', 'context']),
    new Option('-R, --recursive', 'read the folders of --from with all folders in them'),
    ...kubeconfigFlags(
      'read a cluster; needs the right to list Nodes, Services and EndpointSlices',
    ),
    new Option('--config <FILE>', 'settings of the wrapper (defaults, communities, edge nodes, …)'),
    new Option(
      '--keys <KEYS>',
      'keys for Services without an annotation: a JSON array, or a list with commas',
    ).conflicts('preset'),
    new Option('--preset <NAME>', 'the same, with the name of a preset'),
    listFlag('--service <NS/NAME>', 'only this Service, with details'),
    NAMESPACE,
    ALL_NAMESPACES,
    SELECTOR,
    new Option(
      '--diff',
      'show only what --keys and --preset change, and the new warnings; without these flags: what --config changes',
    ),
    listFlag(
      '--against <FILE>',
      'compare with another state: the manifests of a file or folder, or the settings of a file',
    ),
    outputFlag('text', 'json', 'yaml', 'wide'),
    NO_HEADERS,
  ],
  examples: [
    'kubectl get nodes,services,endpointslices -A -o yaml > cluster.yaml',
    '{program} simulate --from cluster.yaml',
    'kubectl get nodes,services,endpointslices -A -o yaml | {program} simulate --from - -n shop',
    '{program} simulate --from cluster.yaml --preset prefer-same-zone --diff',
    '{program} simulate --from new.yaml --diff --against old.yaml',
    '{program} simulate --from cluster.yaml --config new-settings.yaml --diff --against old-settings.yaml',
  ],
  exits: {
    0: 'no warnings',
    1: 'the input cannot be read, or has no such Service or namespace',
    3: 'there are warnings (with --diff: new ones)',
  },
  hasArguments: true,
  execute: async (call) => (await import('../simulate/simulate-command.ts')).executeSimulate(call),
};
