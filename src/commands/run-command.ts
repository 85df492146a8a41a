import { type Command, EXIT, type Flags, textFlag } from './command.ts';
import { run } from './run.ts';

/** `kube-proxy-wrapper run`. */
export const runCommand: Command = {
  summary: 'run the proxy on this node',
  help: `Runs the proxy until SIGTERM or SIGINT. SIGHUP reads the settings again; the log says which take effect.

Usage:
  kube-proxy-wrapper run [flags]

Flags:
  --node-name NAME        name of the Node on which the wrapper runs (or NODE_NAME)
  --kubeconfig FILE       kubeconfig of the wrapper (or KUBECONFIG); default: in-cluster
  --listen IP:PORT        address for kube-proxy, loopback only; default 127.0.0.1:10360
  --admin-listen IP:PORT  address of the page, /healthz, /readyz, /metrics and /explain; default 127.0.0.1:10361
  --state-dir DIR         folder for the last known state, for a start while the API server is unreachable
  --local-runtime SOCKET  CRI socket, to correct endpoints of this node while the API server is unreachable
  --handover-seconds N    on SIGTERM, wait at most this long until the next process listens; default 0
  --config FILE           settings in YAML; see docs/settings.md
  --dry-run               decide and explain, but show all endpoints to kube-proxy
  --log-level LEVEL       trace, debug, info, warn, error or silent; default info
  --log-format FORMAT     json (default), or text for people

Examples:
  kube-proxy-wrapper run --node-name "$NODE_NAME" --kubeconfig /etc/kubernetes/kube-proxy-wrapper.conf
  kube-proxy-wrapper run --dry-run --config settings.yaml      # try policies, and see explain

Exit codes: 0 stopped by a signal, 1 wrong settings or an error at start, 2 wrong command line.
`,
  options: {
    'node-name': { type: 'string' },
    kubeconfig: { type: 'string' },
    listen: { type: 'string' },
    'admin-listen': { type: 'string' },
    'state-dir': { type: 'string' },
    'local-runtime': { type: 'string' },
    'handover-seconds': { type: 'string' },
    config: { type: 'string' },
    'dry-run': { type: 'boolean' },
    'log-level': { type: 'string' },
    'log-format': { type: 'string' },
  },
  maxArguments: 0,
  async execute(flags) {
    const settings = {
      nodeName: flags['node-name'],
      kubeconfig: flags.kubeconfig,
      listen: flags.listen,
      adminListen: flags['admin-listen'],
      logLevel: flags['log-level'],
      logFormat: flags['log-format'],
      stateDir: flags['state-dir'],
      localRuntime: flags['local-runtime'],
      handoverSeconds: numberOf(flags['handover-seconds']),
      dryRun: flags['dry-run'],
    };
    await run(settings, textFlag(flags, 'config'));
    return EXIT.ok;
  },
};

/** Any other text is returned unchanged, so that the check of the settings reports it. */
function numberOf(value: Flags[string]): unknown {
  return typeof value === 'string' && /^[0-9]+$/.test(value) ? Number(value) : value;
}
