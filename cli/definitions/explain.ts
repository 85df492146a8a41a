import { Option } from 'commander';
import type { Command } from '../command-line/command.ts';
import type { LocalExplainFlags } from '../node/explain.ts';
import { ADMIN, ALL_NAMESPACES, NAMESPACE, NO_HEADERS, outputFlag, SELECTOR } from './flags.ts';

/** `kube-proxy-wrapper explain`. */
export const explain: Command<LocalExplainFlags> = {
  name: 'explain',
  summary: 'explain what this node sees of each Service',
  description:
    'Shows what kube-proxy on this node sees of a Service, why, and when that changed. The running wrapper answers.',
  usage: [
    ['[flags]', 'all Services, one line each'],
    ['[NAMESPACE/]SERVICE [flags]', 'one Service; svc/SERVICE is accepted too'],
  ],
  flags: [
    ADMIN,
    NAMESPACE,
    ALL_NAMESPACES,
    SELECTOR,
    new Option(
      '--diff',
      'what the wrapper changes in the objects of the Service; with -o json as a JSON Patch',
    ),
    new Option('--warnings', 'only Services with warnings'),
    outputFlag('text', 'json', 'yaml', 'wide'),
    NO_HEADERS,
  ],
  examples: [
    '{program} explain shop/web',
    '{program} explain -n shop svc/web',
    '{program} explain shop/web --diff',
    '{program} explain --warnings',
    "{program} explain shop/web -o json | jq '.ports[].winner'",
    "{program} explain -l app=web -o json | jq -r '.services[].service'",
  ],
  exits: {
    0: 'answered',
    1: 'no wrapper answers, or there is no such Service or namespace',
  },
  hasArguments: true,
  execute: async (call) => (await import('../node/explain.ts')).executeExplain(call),
};
