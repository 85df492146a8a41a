import type { Command } from '../command.ts';
import { ADMIN, ALL_NAMESPACES, NAMESPACE, NO_HEADERS, outputFlag } from './flags.ts';

/** `kube-proxy-wrapper decisions`. */
export const decisions: Command = {
  name: 'decisions',
  summary: 'show which decisions of this node changed lately, and why',
  description: `Shows the latest changes of decisions on this node, the oldest first: other keys win for a Service, or other endpoints
of it are kept. The running wrapper answers.`,
  usage: [
    ['[flags]', 'all Services'],
    ['[NAMESPACE/]SERVICE [flags]', 'one Service'],
  ],
  flags: [
    ADMIN,
    NAMESPACE,
    ALL_NAMESPACES,
    {
      ...{ name: 'limit', value: 'N' },
      help: 'how many changes are read, the latest ones; default 500',
    },
    outputFlag('text', 'json', 'yaml'),
    NO_HEADERS,
  ],
  examples: ['{program} decisions', '{program} decisions shop/web -w'],
  exits: { 0: 'answered', 1: 'no wrapper answers', 2: 'wrong command line' },
  maxArguments: 2,
  execute: async (call) => (await import('../decisions.ts')).executeDecisions(call),
};
