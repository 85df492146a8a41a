import { Option } from 'commander';
import { type Command, EXIT } from '../command-line/command.ts';

/** Those flags that are settings have their names. */
interface RelayFlags {
  readonly config?: string;
}

/** `kube-proxy-wrapper relay`. */
export const relay: Command<RelayFlags> = {
  name: 'relay',
  summary: 'run a relay: one watch for the wrappers of a site',
  description:
    'Runs a relay until SIGTERM or SIGINT. It needs the setting https, and reads the settings of\n' +
    'run that concern the API server, listeners and limits.',
  usage: [['[flags]']],
  flags: [
    new Option('--node-name <NAME>', 'name of its Node, for the log (or NODE_NAME)'),
    new Option(
      '--kubeconfig <FILE>',
      'kubeconfig of the relay (or KUBECONFIG); default: in-cluster',
    ),
    new Option('--admin-listen <IP:PORT>', 'address of /healthz, /readyz and /metrics'),
    new Option('--config <FILE>', 'settings in YAML; see docs/relay.md'),
  ],
  examples: ['{program} relay --config relay.yaml'],
  exits: {
    0: 'stopped by a signal',
    1: 'wrong settings or an error at start',
  },
  execute: async ({ flags: { config, ...settings } }) => {
    await (await import('../../src/run/run-relay.ts')).runRelay(settings, config);
    return { code: EXIT.ok };
  },
};
