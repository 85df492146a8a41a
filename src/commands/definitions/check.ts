import { Option } from 'commander';
import type { Command } from '../command-line/command.ts';
import type { CheckFlags } from '../node/check.ts';
import { ADMIN, numberFlag, outputFlag } from './flags.ts';

/** `kube-proxy-wrapper check`. */
export const check: Command<CheckFlags> = {
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
    new Option('--kubeconfig <FILE>', 'kubeconfig of the wrapper'),
    new Option('--context <NAME>', 'context of --kubeconfig; default: its current one'),
    new Option('--kube-proxy-kubeconfig <FILE>', 'kubeconfig of kube-proxy'),
    new Option(
      '--kube-proxy-metrics <IP:PORT>',
      'metrics port of kube-proxy, to detect its mode',
    ).default('127.0.0.1:10249'),
    new Option('--mode <MODE>', 'mode of kube-proxy; default: detected').choices([
      'nftables',
      'iptables',
      'ipvs',
    ]),
    numberFlag('--wait <SECONDS>', 'how long kube-proxy may take to write its tables', 5, 0),
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
