import type { Command } from '../command.ts';

/** `kube-proxy-wrapper completion`. */
export const completion: Command = {
  name: 'completion',
  summary: 'print a script that completes commands, flags and Services in a shell',
  description: `Prints a script that makes a shell complete commands, flags and names of Services of kube-proxy-wrapper. The names
come from the wrapper that runs on this node.`,
  usage: [['bash|zsh|fish']],
  flags: [],
  examples: [
    'source <({program} completion bash)      # in ~/.bashrc',
    'source <({program} completion zsh)       # in ~/.zshrc, after compinit',
    '{program} completion fish > ~/.config/fish/completions/{program}.fish',
  ],
  exits: { 0: 'printed', 1: 'the script cannot be printed', 2: 'wrong command line' },
  maxArguments: 1,
  completes: ['bash', 'zsh', 'fish'],
  execute: async (call) => (await import('../completion.ts')).executeCompletion(call),
};

/** What the scripts call to complete the name of a Service. */
export const completeServices: Command = {
  name: '__services',
  summary: 'names of Services that begin with a text',
  description:
    'Prints the names of Services that begin with a text, for the scripts of completion.',
  usage: [['TEXT']],
  flags: [],
  examples: ['{program} __services shop/w'],
  exits: { 0: 'printed', 2: 'wrong command line' },
  maxArguments: 1,
  hidden: true,
  execute: async (call) => (await import('../complete-services.ts')).executeCompleteServices(call),
};
