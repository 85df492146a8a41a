import type { Command, Flag } from '../command-line/command.ts';
import { explain } from './explain.ts';
import { CONTEXT, KUBECONFIG, outputFlag } from './flags.ts';
import { simulate } from './simulate.ts';
import { version } from './version.ts';

/* The commands of kubectl-kpw: those of kube-proxy-wrapper that ask a wrapper, for wrappers on other nodes. */

/** How wrappers on other nodes are found and reached. */
const CONNECTION: readonly Flag[] = [
  {
    ...KUBECONFIG,
    help: 'kubeconfig with which wrappers are found and reached; default: $KUBECONFIG or ~/.kube/config',
  },
  { ...CONTEXT, help: 'context of the kubeconfig; default: its current one' },
  {
    ...{ name: 'pod-selector', value: 'SELECTOR' },
    help: 'labels of the Pods of the wrapper; default app.kubernetes.io/name=kube-proxy-wrapper',
  },
  {
    ...{ name: 'pod-namespace', value: 'NS' },
    help: 'namespace in which the wrapper is installed; default kube-system',
  },
  {
    ...{ name: 'admin-port', value: 'PORT' },
    help: 'port of the setting adminListen; default 10361',
  },
  {
    ...{ name: 'parallel', value: 'N' },
    help: 'nodes that are read at the same time; default 10',
  },
];

const TARGET: readonly Flag[] = [
  { ...{ name: 'node', value: 'NAME' }, help: 'the wrapper on this node' },
  {
    name: 'all-nodes',
    help: 'the wrappers on all nodes',
  },
];

/** The explanation of a node, through the API server. */
const remoteExplain: Command = {
  ...explain,
  summary: 'explain what a node, or each node, sees of each Service',
  description: `${explain.description.replaceAll('this node', 'a node')} With --all-nodes, nodes that see the same of a Service
share one line.`,
  usage: explain.usage.map(([args, remark]) => {
    const form = args.replace('[flags]', '--node NAME|--all-nodes [flags]');
    return remark === undefined ? [form] : [form, remark];
  }),
  flags: [...TARGET, ...explain.flags.filter(({ name }) => name !== 'admin'), ...CONNECTION],
  notes: 'It needs the rights to list pods, and to create and get pods/portforward.',
  examples: ['{program} explain shop/web --node edge-1', '{program} explain shop/web --all-nodes'],
  exits: { ...explain.exits, 1: 'a wrapper cannot be reached or has no answer' },
  execute: async (call) => (await import('../remote/remote-explain.ts')).executeRemoteExplain(call),
};

const clusterStatus: Command = {
  name: 'status',
  summary: 'show whether it is well, on all nodes or one',
  description: `Shows whether it is well: Pods of the wrapper that do not run, and why; two versions or settings for long; what status says
on each node; and whether each node sees what simulate computes. Nodes with the same outcome share one line, the
problems first. Findings about policies are those of simulate.`,
  usage: [
    ['[flags]', 'all nodes'],
    ['--node NAME [flags]', 'one node, all its lines'],
  ],
  flags: [
    ...TARGET,
    {
      ...{ name: 'config', value: 'FILE' },
      help: 'settings of the wrappers; default: the ConfigMap that their Pods mount',
    },
    ...CONNECTION,
    outputFlag('text', 'json', 'yaml'),
  ],
  notes: `It needs the rights to list pods, and to create and get pods/portforward. To compare with simulate it needs the rights to
list nodes, services and endpointslices, and to get the ConfigMap of the wrapper.`,
  examples: ['{program} status', '{program} status --node edge-1', '{program} status -o json'],
  exits: {
    0: 'no problem found',
    1: 'the Pods of wrappers cannot be read',
    2: 'wrong command line',
    3: 'there are problems',
  },
  execute: async (call) => (await import('../remote/cluster-status.ts')).executeClusterStatus(call),
};

/** The commands of kubectl-kpw, in the order of --help. */
export const REMOTE_COMMANDS: readonly Command[] = [
  clusterStatus,
  remoteExplain,
  simulate,
  version,
];
