import type { Command } from '../command.ts';
import { ALL_NAMESPACES, INPUT, NAMESPACE, NO_HEADERS, outputFlag, SELECTOR } from './flags.ts';

/** `kube-proxy-wrapper analyze`. */
export const analyze: Command = {
  name: 'analyze',
  summary: 'find mistakes in policies, in a cluster or in manifests',
  description: `Finds what is wrong with the policies of a cluster, or of manifests before they are applied. It simulates every node,
like simulate, and prints only what it found, grouped by kind: errors (E) lose traffic, warnings (!) are probably
mistakes, the rest (i) is for information. Without --from it reads the cluster of your kubeconfig.`,
  usage: [
    ['[flags]', 'the cluster of $KUBECONFIG or ~/.kube/config'],
    ['--from FILE... [flags]', 'Nodes, Services, EndpointSlices from manifests'],
  ],
  flags: [
    ...INPUT,
    NAMESPACE,
    ALL_NAMESPACES,
    SELECTOR,
    {
      ...{ name: 'fail-on', value: 'SEVERITY', choices: ['warning', 'error', 'none'] },
      help: 'lowest severity that the exit code reports: warning (default), error or none',
    },
    outputFlag('text', 'json', 'yaml', 'wide'),
    NO_HEADERS,
  ],
  examples: [
    '{program} analyze',
    '{program} analyze --context prod -n shop',
    'helm template ./chart | cat nodes.yaml - | {program} analyze --from - --fail-on error',
  ],
  exits: {
    0: 'nothing of this severity',
    1: 'the input cannot be read',
    2: 'wrong command line',
    3: 'there are warnings',
    4: 'there are errors',
  },
  execute: async (call) => (await import('../analyze.ts')).executeAnalyze(call),
};
