import { InvalidArgumentError, Option } from 'commander';
import type { Command, Program } from '../command-line/command.ts';
import type { ClusterStatusFlags } from '../remote/cluster-status.ts';
import type { RemoteExplainFlags } from '../remote/remote-explain.ts';
import { explain } from './explain.ts';
import { ADMIN, kubeconfigFlags, numberFlag, outputFlag, WATCH } from './flags.ts';
import { simulate } from './simulate.ts';
import { version } from './version.ts';

/* The commands of kubectl-kpw: those of kube-proxy-wrapper that ask a wrapper, for wrappers on other nodes. */

/** How wrappers on other nodes are found and reached. */
const CONNECTION: readonly Option[] = [
  ...kubeconfigFlags('kubeconfig with which wrappers are found and reached'),
  new Option('--pod-selector <SELECTOR>', 'labels of the Pods of the wrapper').default(
    'app.kubernetes.io/name=kube-proxy-wrapper',
  ),
  new Option('--pod-namespace <NS>', 'namespace in which the wrapper is installed').default(
    'kube-system',
  ),
  numberFlag('--admin-port <PORT>', 'port of the setting adminListen', 10361, 1, 65_535),
  numberFlag('--parallel <N>', 'nodes that are read at the same time', 32, 1),
  numberFlag('--request-timeout <SECONDS>', 'time for a node to answer', 5, 1, 3_600),
];

const TARGET: readonly Option[] = [
  new Option('--node <NAME>', 'the wrapper on this node'),
  new Option('--all-nodes', 'the wrappers on all nodes').conflicts('node'),
];

/** 1.1 had it. */
const REMOVED_CONFIG = new Option('--config <FILE>').hideHelp().argParser(() => {
  throw new InvalidArgumentError('It was removed: use kubectl kpw simulate.');
});

/** The explanation of a node, through the API server. */
const remoteExplain: Command<RemoteExplainFlags> = {
  ...explain,
  summary: 'explain what a node, or each node, sees of each Service',
  description: `${explain.description.replaceAll('this node', 'a node')}
With --all-nodes, nodes that see the same of a Service share one line.`,
  usage: explain.usage.map(([args, ...remark]) => [
    args.replace('[flags]', '--node NAME|--all-nodes [flags]'),
    ...remark,
  ]),
  flags: [...TARGET, ...explain.flags.filter((flag) => flag !== ADMIN), ...CONNECTION],
  notes: 'It needs the rights to list pods, and to create and get pods/portforward.',
  examples: ['{program} explain shop/web --node edge-1', '{program} explain shop/web --all-nodes'],
  exits: { ...explain.exits, 1: 'a wrapper is unreachable or has no answer' },
  execute: async (call) => (await import('../remote/remote-explain.ts')).executeRemoteExplain(call),
};

const clusterStatus: Command<ClusterStatusFlags> = {
  name: 'status',
  summary: 'show whether it is well, on all nodes or one',
  description: `Shows whether it is well: Pods of the wrapper that do not run, and why; two versions or settings for long; and what
status says on each node. Nodes with the same outcome share one line, the problems first.`,
  usage: [
    ['[flags]', 'all nodes'],
    ['--node NAME [flags]', 'one node, all its lines'],
  ],
  flags: [...TARGET, ...CONNECTION, WATCH, outputFlag('text', 'json', 'yaml'), REMOVED_CONFIG],
  notes: `It needs the rights to list pods, and to create and get pods/portforward. With the right to list nodes it names those
without a wrapper, and does not wait for those whose kubelet no longer reports.`,
  examples: ['{program} status', '{program} status --node edge-1', '{program} status -o json'],
  exits: {
    0: 'no problem found',
    1: 'the Pods of wrappers cannot be read, or ports not be forwarded, without a right that is named',
    3: 'there are problems',
  },
  execute: async (call) => (await import('../remote/cluster-status.ts')).executeClusterStatus(call),
};

/** kubectl-kpw. */
export const KUBECTL_KPW: Program = {
  name: 'kubectl kpw',
  title: 'queries the kube-proxy-wrappers of a cluster, from anywhere',
  commands: [clusterStatus, remoteExplain, simulate, version],
};
