import type { Command } from '../command.ts';
import { ADMIN, outputFlag } from './flags.ts';

/** `kube-proxy-wrapper status`. */
export const status: Command = {
  name: 'status',
  summary: 'show on one screen how the wrapper on this node is doing',
  description: `Shows on one screen: problems first, then the node, the API server and the age of the data, kube-proxy, and the views.
The running wrapper answers.`,
  usage: [['[flags]']],
  flags: [ADMIN, outputFlag('text', 'json', 'yaml')],
  examples: ['{program} status', '{program} status -o json | jq .problems'],
  exits: {
    0: 'no problem found',
    1: 'no wrapper answers',
    2: 'wrong command line',
    3: 'there are problems',
  },
  execute: async (call) => (await import('../status.ts')).executeStatus(call),
};
