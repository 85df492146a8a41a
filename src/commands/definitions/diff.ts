import type { Command } from '../command.ts';
import { ADMIN, NAMESPACE, outputFlag } from './flags.ts';

/** `kube-proxy-wrapper diff`. */
export const diff: Command = {
  name: 'diff',
  summary: 'show what the wrapper changes in the objects of a Service',
  description: `Shows what the wrapper changes in the objects of a Service, as a JSON Patch (RFC 6902) for each object.
Endpoints are keyed by their address, not by their position.`,
  usage: [['[NAMESPACE/]SERVICE [flags]']],
  flags: [
    {
      ...{ name: 'kind', value: 'KIND', choices: ['endpointslice', 'endpoints', 'service'] },
      help: 'endpointslice (default), endpoints or service',
    },
    ADMIN,
    { ...NAMESPACE, help: 'namespace of the Service; default: default' },
    outputFlag('text', 'json', 'yaml'),
  ],
  examples: ['{program} diff shop/web', "{program} diff shop/web -o json | jq '.objects[].patch'"],
  exits: {
    0: 'answered',
    1: 'no wrapper answers or there is no such object',
    2: 'wrong command line',
  },
  maxArguments: 2,
  execute: async (call) => (await import('../diff.ts')).executeDiff(call),
};
