import type { Command, Flag } from '../command.ts';
import { explain } from './explain.ts';
import {
  ALL_NAMESPACES,
  CONTEXT,
  KUBECONFIG,
  NAMESPACE,
  NO_HEADERS,
  outputFlag,
  SELECTOR,
} from './flags.ts';
import { simulate } from './simulate.ts';
import { status } from './status.ts';
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
    help: 'the wrappers on all nodes; -o wide prints all that each of them answers',
  },
];

const RIGHTS = 'It needs the rights to list pods, and to create and get pods/portforward.';

/** Flags that have a meaning only on the node, or that TARGET and CONNECTION replace. */
const LOCAL = [
  'admin',
  'kubeconfig',
  'context',
  'kube-proxy-kubeconfig',
  'kube-proxy-metrics',
  'mode',
  'wait',
];

const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  explain: ['{program} explain shop/web --node edge-1', '{program} explain shop/web --all-nodes'],
  status: ['{program} status --node edge-1', '{program} status --all-nodes'],
  version: ['{program} version --all-nodes'],
};

/** The notes of a command are about running it on the node. */
function remote(command: Command, changes: Partial<Command> = {}): Command {
  const { name, flags, usage, exits } = command;
  const own = flags.filter((flag) => !LOCAL.includes(flag.name));
  return {
    ...command,
    summary: command.summary.replaceAll('this node', 'a node'),
    description: command.description.replaceAll('this node', 'a node'),
    usage: usage.map(([args, remark]) => {
      const form = args.replace('[flags]', '--node NAME|--all-nodes [flags]');
      return remark === undefined ? [form] : [form, remark];
    }),
    flags: [...TARGET, ...own.map(withWide), ...CONNECTION],
    notes: RIGHTS,
    examples: EXAMPLES[name] ?? command.examples,
    exits: { ...exits, 1: 'a wrapper cannot be reached or has no answer' },
    execute: async (call) =>
      (await import('../remote/remote-command.ts')).executeRemote(command, call),
    ...changes,
  };
}

/** With --all-nodes -o wide has a meaning for each command. */
function withWide(flag: Flag): Flag {
  if (flag.name !== 'output' || flag.choices?.includes('wide')) return flag;
  return outputFlag(...(flag.choices ?? []), 'wide');
}

const fleet: Command = {
  name: 'fleet',
  summary: 'compare what all nodes really see with what simulate expects of them',
  description: `Reads what kube-proxy on every node really sees, through its wrapper, and compares it with what simulate computes from the
objects of the cluster. Differences come first. A difference that is gone a moment later is not reported.`,
  usage: [
    ['[flags]', 'all Services: numbers of endpoints, and the keys that win'],
    ['[NAMESPACE/]SERVICE [flags]', 'one Service: each address'],
  ],
  flags: [
    {
      ...{ name: 'config', value: 'FILE' },
      help: 'settings of the wrappers; default: the ConfigMap that their Pods mount',
    },
    NAMESPACE,
    ALL_NAMESPACES,
    SELECTOR,
    ...CONNECTION,
    outputFlag('text', 'json', 'yaml', 'wide'),
    NO_HEADERS,
  ],
  notes: `It needs the rights to list pods, nodes, services and endpointslices, to get the ConfigMap of the wrapper, and to create
and get pods/portforward.`,
  examples: ['{program} fleet', '{program} fleet shop/web', '{program} fleet -n shop -o json'],
  exits: {
    0: 'every node sees what is expected',
    1: 'the cluster or the Pods of wrappers cannot be read',
    2: 'wrong command line',
    3: 'there are differences, or wrappers that do not answer',
  },
  maxArguments: 2,
  execute: async (call) => (await import('../remote/fleet-command.ts')).executeFleet(call),
};

/** The commands of kubectl-kpw, in the order of --help. */
export const REMOTE_COMMANDS: readonly Command[] = [
  remote(status),
  fleet,
  remote(explain),
  simulate,
  remote(version),
];
