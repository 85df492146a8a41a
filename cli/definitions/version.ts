import { printLine } from '../../src/text/untrusted-text.ts';
import { VERSION } from '../../src/version.ts';
import { type Command, EXIT } from '../command-line/command.ts';
import { outputFlag } from './flags.ts';

/** `kube-proxy-wrapper version`. */
export const version: Command = {
  name: 'version',
  summary: 'print the version of this program',
  description: 'Prints the version of this program. The version of a running wrapper is in status.',
  usage: [['[flags]']],
  flags: [outputFlag('text', 'json', 'yaml')],
  examples: ['{program} version'],
  exits: { 0: 'printed' },
  execute: async () => ({
    code: EXIT.ok,
    report: { data: { version: VERSION }, text: () => printLine(VERSION) },
  }),
};
