import type { Command } from '../command.ts';
import { ADMIN, outputFlag } from './flags.ts';

/** `kube-proxy-wrapper version`. */
export const version: Command = {
  name: 'version',
  summary: 'print the version of this program and of the running wrapper',
  description: 'Prints the version of this program and of the wrapper that runs on this node.',
  usage: [['[flags]']],
  flags: [
    ADMIN,
    { name: 'client', help: 'only the version of this program' },
    outputFlag('text', 'json', 'yaml'),
  ],
  examples: ['{program} version', '{program} version --client'],
  exits: {
    0: 'printed',
    1: 'no wrapper answers, and only the version of this program is known',
    2: 'wrong command line',
  },
  execute: async (call) => (await import('../version.ts')).executeVersion(call),
};
