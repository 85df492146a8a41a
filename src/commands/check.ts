import type { Table } from '../admin/explain/table.ts';
import { WrapperError } from '../errors.ts';
import { adminUrl } from './admin-client.ts';
import { checkKubeconfig, checkSockets } from './check/check-connection.ts';
import { checkIdentity } from './check/check-identity.ts';
import { checkKernel } from './check/check-kernel.ts';
import { checkServices } from './check/check-services.ts';
import { checkReadiness, checkWatches, readTable } from './check/check-wrapper.ts';
import { MODES } from './check/read-kernel-table.ts';
import { fail, formatVerdicts, ok, skip, type Verdict } from './check/verdict.ts';
import { wrapperListeners } from './check/wrapper-listeners.ts';
import { type Command, choiceFlag, EXIT, type Flags, textFlag, UsageError } from './command.ts';
import { formatData } from './format-output.ts';

/** `kube-proxy-wrapper check`. */
export const checkCommand: Command = {
  summary: 'check on a node whether kube-proxy works through the wrapper',
  help: `Checks, on a node and without changing anything, whether kube-proxy really works through the wrapper.

Usage:
  kube-proxy-wrapper check [flags]

Each line of the output is one check. A failed check also says what to do:
  wrapper      a wrapper answers at --admin
  ready        it has everything that it needs from the API server
  services     no policy leaves a Service without a ready endpoint on this node
  identity     the user of --kubeconfig has the required rights (only with --kubeconfig)
  kubeconfig   the kubeconfig of kube-proxy names the wrapper (only with --kube-proxy-kubeconfig)
  connection   the kube-proxy process is connected to the wrapper, and not directly to an API server
  watches      a client watches Services and EndpointSlices through the wrapper
  kernel       the kernel's tables (nftables, iptables or IPVS) match what the wrapper shows

Flags:
  --admin IP:PORT                admin port of the wrapper; default 127.0.0.1:10361
  --kubeconfig FILE              kubeconfig of the wrapper
  --kube-proxy-kubeconfig FILE   kubeconfig of kube-proxy
  --kube-proxy-metrics IP:PORT   metrics port of kube-proxy, to detect its mode; default 127.0.0.1:10249
  --mode MODE                    nftables, iptables or ipvs; default: detected
  --wait SECONDS                 how long kube-proxy may take to write its tables; default 5
  -o, --output FORMAT            text (default), json or yaml

Examples:
  kube-proxy-wrapper check
  kube-proxy-wrapper check --kube-proxy-kubeconfig /var/lib/kube-proxy/kubeconfig.conf

Run it as root, in the network and process namespaces of kube-proxy. It skips checks that it cannot do.

Exit codes: 0 no problem found, 1 the check failed to run, 2 wrong command line, 3 there are problems.
`,
  options: {
    admin: { type: 'string' },
    kubeconfig: { type: 'string' },
    'kube-proxy-kubeconfig': { type: 'string' },
    'kube-proxy-metrics': { type: 'string' },
    mode: { type: 'string' },
    wait: { type: 'string' },
    output: { type: 'string', short: 'o' },
  },
  maxArguments: 0,
  async execute(flags) {
    const format = choiceFlag(flags, 'output', ['text', 'json', 'yaml']);
    const verdicts = await checkAll(flags);
    const text = format === 'text' ? formatVerdicts(verdicts) : formatData({ verdicts }, format);
    process.stdout.write(text);
    return verdicts.some(({ outcome }) => outcome === 'fail') ? EXIT.findings : EXIT.ok;
  },
};

async function checkAll(flags: Flags): Promise<Verdict[]> {
  const url = adminUrl(flags);
  const kernel = readKernelFlags(flags);
  const verdicts: Verdict[] = [];
  const kubeconfig = textFlag(flags, 'kubeconfig');
  if (kubeconfig !== undefined) verdicts.push(await checkIdentity(kubeconfig));
  const wrapper = await checkWrapper(url);
  verdicts.push(wrapper.verdict);
  const { table } = wrapper;
  if (table === undefined) return verdicts;
  const listeners = wrapperListeners(table);
  verdicts.push(await checkReadiness(url));
  if (table.view !== undefined) verdicts.push(await checkServices(url));
  const proxyConfig = textFlag(flags, 'kube-proxy-kubeconfig');
  if (proxyConfig !== undefined) verdicts.push(await checkKubeconfig(proxyConfig, listeners));
  verdicts.push(await checkSockets(listeners));
  const watches = checkWatches(table);
  verdicts.push(watches);
  if (watches.outcome === 'ok') verdicts.push(await checkKernel({ ...kernel, adminUrl: url }));
  if (table.dryRun) {
    verdicts.push(skip('policies', 'dry run: all endpoints are shown, independent of policies'));
  }
  return verdicts;
}

function readKernelFlags(flags: Flags) {
  const mode = textFlag(flags, 'mode') === undefined ? undefined : choiceFlag(flags, 'mode', MODES);
  const wait = Number(textFlag(flags, 'wait') ?? '5');
  if (!(wait >= 0)) throw new UsageError('--wait must be a number of seconds');
  const metrics = textFlag(flags, 'kube-proxy-metrics') ?? '127.0.0.1:10249';
  return { mode, waitMs: wait * 1000, metricsUrl: `http://${metrics}` };
}

/** Checks that a wrapper answers; returns its table too. */
async function checkWrapper(
  url: string,
): Promise<{ readonly verdict: Verdict; readonly table?: Table }> {
  try {
    const table = await readTable(url);
    const urls = wrapperListeners(table).map(({ url }) => url);
    return {
      verdict: ok('wrapper', `node ${table.node}, listens at ${urls.join(' and ')}`),
      table,
    };
  } catch (error) {
    const { code, message } = WrapperError.from(error, 'Unreachable');
    const next =
      code === 'NotReady'
        ? `see ${url}/readyz for the reason`
        : 'start the wrapper on this node, or set --admin to its admin port';
    return { verdict: fail('wrapper', message, next) };
  }
}
