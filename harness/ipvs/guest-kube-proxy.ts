import { poll } from '../poll.ts';
import type { Machine } from './machine.ts';

/** What a proxier logs at the end of each sync, with a small letter in IPVS mode. */
const synced = 'yncProxyRules complete';

/** How a kube-proxy of a machine writes its tables. */
export type GuestMode = 'ipvs' | 'nftables';

/**
 * Starts a stock kube-proxy inside a machine, and waits until it has written its tables once.
 *
 * @param nodeName network namespace inside the machine, and name of its Node
 * @param kubeconfig path of the kubeconfig inside the machine
 */
export async function startGuestKubeProxy(
  machine: Machine,
  nodeName: string,
  kubeconfig: string,
  mode: GuestMode,
) {
  const logFile = `/var/log/kube-proxy-${nodeName}-${mode}.log`;
  const command = ['ip netns exec', nodeName, 'kube-proxy', ...flags(nodeName, kubeconfig, mode)];
  const pid = (await machine.exec(`${command.join(' ')} >${logFile} 2>&1 & echo $!`)).trim();
  const log = async () => await machine.exec(`grep -v FLAG: ${logFile} | tail -n 15`);
  try {
    // /healthz answers 200 before anything is in the kernel, and /metrics is too expensive to read often.
    await poll(
      async () => await machine.exec(`kill -0 ${pid} && grep -c '${synced}' ${logFile} || true`),
      (count) => Number(count) > 0,
      { timeoutMs: 240_000, intervalMs: 250, what: `the first sync of kube-proxy on ${nodeName}` },
    );
  } catch (error) {
    throw new Error(`kube-proxy on ${nodeName}, whose log ends:\n${await log()}`, { cause: error });
  }
  return {
    /** Reads the end of its log. */
    log,
    /** Ends it as the kubelet does. */
    stop: async () =>
      void (await machine.exec(
        `kill ${pid}; while kill -0 ${pid} 2>/dev/null; do sleep 0.1; done`,
      )),
  };
}

/** Flags, not a file, since these are what a user of IPVS sets. The reasons are in harness/node/kube-proxy.ts. */
function flags(nodeName: string, kubeconfig: string, mode: GuestMode): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${nodeName}`,
    `--proxy-mode=${mode}`,
    ...(mode === 'ipvs' ? ['--ipvs-min-sync-period=1ms'] : []),
    '--conntrack-max-per-core=0',
    '--healthz-bind-address=127.0.0.1:10256',
    '--metrics-bind-address=127.0.0.1:10249',
    // Including the log line that a sync is complete.
    '--v=4',
  ];
}
