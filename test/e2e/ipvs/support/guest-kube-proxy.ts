import { eventually } from '../../support/eventually.ts';
import type { Machine } from './machine.ts';

export interface GuestKubeProxyOptions {
  readonly machine: Machine;
  /** Network namespace inside the machine, and name of its Node. */
  readonly nodeName: string;
  /** Path of the kubeconfig inside the machine. */
  readonly kubeconfig: string;
  /** Default: kube-proxy's own, which is rr. */
  readonly scheduler?: string | undefined;
}

/** What the proxier of IPVS logs at the end of each sync. */
const synced = 'syncProxyRules complete';

export type GuestKubeProxy = Awaited<ReturnType<typeof startGuestKubeProxy>>;

/** Starts a stock kube-proxy in IPVS mode inside a machine, and waits until it has written its tables once. */
export async function startGuestKubeProxy(options: GuestKubeProxyOptions) {
  const { machine, nodeName } = options;
  const logFile = `/var/log/kube-proxy-${nodeName}.log`;
  const command = ['ip netns exec', nodeName, 'kube-proxy', ...flags(options)].join(' ');
  const pid = (await machine.exec(`${command} >${logFile} 2>&1 & echo $!`)).trim();
  const log = async () => await machine.exec(`grep -v FLAG: ${logFile} | tail -n 15`);
  try {
    // /healthz answers 200 before anything is in the kernel, and /metrics is too expensive to read often.
    await eventually(
      async () => await machine.exec(`kill -0 ${pid} && grep -c '${synced}' ${logFile} || true`),
      (count) => Number(count) > 0,
      { timeoutMs: 240_000, intervalMs: 250, what: `the first sync of kube-proxy on ${nodeName}` },
    );
  } catch (error) {
    throw new Error(`kube-proxy on ${nodeName}, whose log ends:\n${await log()}`, { cause: error });
  }
  return {
    /** A counter of its metrics: the sum over its labels. */
    readCounter: async (name: string) => sum(await metricLines(machine, nodeName, name)),
    /** The end of its log. */
    log,
    /** Ends it as a node does that restarts it: its tables stay. */
    stop: async () => {
      await machine.exec(`kill ${pid}; while [ -d /proc/${pid} ]; do sleep 0.1; done`);
    },
  };
}

async function metricLines(machine: Machine, nodeName: string, name: string): Promise<string> {
  const url = 'http://127.0.0.1:10249/metrics';
  return await machine.execIn(nodeName, `wget -qO- ${url} | grep '^${name}[ {]'`);
}

/** Flags, not a file, since these are what a user of IPVS sets. The reasons are in support/kube-proxy.ts. */
function flags({ nodeName, kubeconfig, scheduler }: GuestKubeProxyOptions): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${nodeName}`,
    '--proxy-mode=ipvs',
    ...(scheduler === undefined ? [] : [`--ipvs-scheduler=${scheduler}`]),
    '--ipvs-min-sync-period=1ms',
    '--conntrack-max-per-core=0',
    '--healthz-bind-address=127.0.0.1:10256',
    '--metrics-bind-address=127.0.0.1:10249',
    // Including the log line that a sync is complete.
    '--v=4',
  ];
}

/** Of the values in lines of Prometheus' text format. */
function sum(lines: string): number {
  const values = lines
    .trim()
    .split('\n')
    .map((line) => Number(line.split(' ').at(-1)));
  return values.reduce((total, value) => total + value, 0);
}
