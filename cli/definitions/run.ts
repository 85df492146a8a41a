import { Option } from 'commander';
import { type Command, EXIT } from '../command-line/command.ts';

/** Those flags that are settings have their names. */
interface RunFlags {
  readonly config?: string;
}

/** `kube-proxy-wrapper run`. */
export const run: Command<RunFlags> = {
  name: 'run',
  summary: 'run the proxy on this node',
  description: 'Runs the proxy until SIGTERM or SIGINT.',
  usage: [['[flags]']],
  flags: [
    new Option('--node-name <NAME>', 'name of the Node on which the wrapper runs (or NODE_NAME)'),
    new Option(
      '--kubeconfig <FILE>',
      'kubeconfig of the wrapper (or KUBECONFIG); default: in-cluster',
    ),
    new Option(
      '--listen <IP:PORT>',
      'address for kube-proxy, loopback only; default 127.0.0.1:10360',
    ),
    new Option(
      '--admin-listen <IP:PORT>',
      'address of the page, /healthz, /readyz, /metrics and /explain; default 127.0.0.1:10361',
    ),
    new Option(
      '--state-dir <DIR>',
      'folder for the last known state, for a start while the API server is unreachable',
    ),
    new Option(
      '--local-runtime <SOCKET>',
      'CRI socket, to correct endpoints of this node while the API server is unreachable',
    ),
    new Option(
      '--handover-seconds <N>',
      'on SIGTERM, wait at most this long until the next process listens; default 0',
      // The check of the settings reports any other text.
    ).argParser((text) => (/^[0-9]+$/.test(text) ? Number(text) : text)),
    new Option('--config <FILE>', 'settings in YAML; see docs/settings.md'),
    new Option('--dry-run', 'decide and explain, but show all endpoints to kube-proxy'),
    new Option('--log-level <LEVEL>', 'trace, debug, info, warn, error or silent; default info'),
  ],
  examples: [
    '{program} run --node-name "$NODE_NAME" --kubeconfig /etc/kubernetes/kube-proxy-wrapper.conf',
    '{program} run --dry-run --config settings.yaml      # try policies, and see explain',
  ],
  exits: {
    0: 'stopped by a signal',
    1: 'wrong settings or an error at start',
  },
  execute: async ({ flags: { config, ...settings } }) => {
    await (await import('../../src/run/run.ts')).run(settings, config);
    return { code: EXIT.ok };
  },
};
