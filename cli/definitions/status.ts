import type { Command } from '../command-line/command.ts';
import type { StatusFlags } from '../node/status.ts';
import { ADMIN, outputFlag, WATCH } from './flags.ts';

/** `kube-proxy-wrapper status`. */
export const status: Command<StatusFlags> = {
  name: 'status',
  summary: 'show whether it is well on this node',
  description: `Shows whether it is well: the wrapper, its data, kube-proxy and the rules of the kernel, what is needed while the
node is cut off, and policies. Each problem has what to do next. The running wrapper answers.`,
  usage: [['[flags]']],
  flags: [ADMIN, WATCH, outputFlag('text', 'json', 'yaml')],
  examples: ['{program} status', '{program} status -o json | jq .lines'],
  exits: {
    0: 'no problem found',
    1: 'no wrapper answers',
    3: 'there are problems',
  },
  execute: async (call) => (await import('../node/status.ts')).executeStatus(call),
};
