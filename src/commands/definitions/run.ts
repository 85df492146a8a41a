import type { Command } from '../command-line/command.ts';

/** `kube-proxy-wrapper run`. */
export const run: Command = {
  name: 'run',
  summary: 'run the proxy on this node',
  description: 'Runs the proxy until SIGTERM or SIGINT.',
  usage: [['[flags]']],
  flags: [
    {
      ...{ name: 'node-name', value: 'NAME' },
      help: 'name of the Node on which the wrapper runs (or NODE_NAME)',
    },
    {
      ...{ name: 'kubeconfig', value: 'FILE' },
      help: 'kubeconfig of the wrapper (or KUBECONFIG); default: in-cluster',
    },
    {
      ...{ name: 'listen', value: 'IP:PORT' },
      help: 'address for kube-proxy, loopback only; default 127.0.0.1:10360',
    },
    {
      ...{ name: 'admin-listen', value: 'IP:PORT' },
      help: 'address of the page, /healthz, /readyz, /metrics and /explain; default 127.0.0.1:10361',
    },
    {
      ...{ name: 'state-dir', value: 'DIR' },
      help: 'folder for the last known state, for a start while the API server is unreachable',
    },
    {
      ...{ name: 'local-runtime', value: 'SOCKET' },
      help: 'CRI socket, to correct endpoints of this node while the API server is unreachable',
    },
    {
      ...{ name: 'handover-seconds', value: 'N' },
      help: 'on SIGTERM, wait at most this long until the next process listens; default 0',
    },
    { name: 'config', value: 'FILE', help: 'settings in YAML; see docs/settings.md' },
    { name: 'dry-run', help: 'decide and explain, but show all endpoints to kube-proxy' },
    {
      ...{ name: 'log-level', value: 'LEVEL' },
      help: 'trace, debug, info, warn, error or silent; default info',
    },
  ],
  examples: [
    '{program} run --node-name "$NODE_NAME" --kubeconfig /etc/kubernetes/kube-proxy-wrapper.conf',
    '{program} run --dry-run --config settings.yaml      # try policies, and see explain',
  ],
  exits: {
    0: 'stopped by a signal',
    1: 'wrong settings or an error at start',
    2: 'wrong command line',
  },
  execute: async (call) => (await import('../run/run-command.ts')).executeRun(call),
};
