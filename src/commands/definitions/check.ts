import type { Command } from '../command-line/command.ts';
import { ADMIN, CONTEXT, outputFlag } from './flags.ts';

/** `kube-proxy-wrapper check`. */
export const check: Command = {
  name: 'check',
  summary: 'check on a node whether kube-proxy works through the wrapper',
  description: `Checks, on a node and without changing anything, whether kube-proxy really works through the wrapper. Each line of the
output is one check. A failed check also says what to do:
  wrapper, data, kube-proxy, rules, localRuntime, stateDir, policies: as status says
  identity     the user of --kubeconfig has the required rights (only with --kubeconfig)
  kubeconfig   the kubeconfig of kube-proxy names the wrapper (only with --kube-proxy-kubeconfig)
  connection   the kube-proxy process is connected to the wrapper, and not directly to an API server
  kernel       the kernel's tables (nftables, iptables or IPVS) match what the wrapper shows`,
  usage: [['[flags]']],
  flags: [
    ADMIN,
    { name: 'kubeconfig', value: 'FILE', help: 'kubeconfig of the wrapper' },
    { ...CONTEXT, help: 'context of --kubeconfig' },
    { name: 'kube-proxy-kubeconfig', value: 'FILE', help: 'kubeconfig of kube-proxy' },
    {
      ...{ name: 'kube-proxy-metrics', value: 'IP:PORT' },
      help: 'metrics port of kube-proxy, to detect its mode; default 127.0.0.1:10249',
    },
    {
      ...{ name: 'mode', value: 'MODE', choices: ['nftables', 'iptables', 'ipvs'] },
      help: 'nftables, iptables or ipvs; default: detected',
    },
    {
      ...{ name: 'wait', value: 'SECONDS' },
      help: 'how long kube-proxy may take to write its tables; default 5',
    },
    outputFlag('text', 'json', 'yaml'),
  ],
  notes:
    'Run it as root, in the network and process namespaces of kube-proxy. It skips checks that it cannot do.',
  examples: [
    '{program} check',
    '{program} check --kube-proxy-kubeconfig /var/lib/kube-proxy/kubeconfig.conf',
  ],
  exits: {
    0: 'no problem found',
    1: 'the check failed to run',
    2: 'wrong command line',
    3: 'there are problems',
  },
  execute: async (call) => (await import('../node/check.ts')).executeCheck(call),
};
