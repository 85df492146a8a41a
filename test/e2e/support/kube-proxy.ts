import { join } from 'node:path';
import type { Binaries, KubeProxyVersion } from './binaries.ts';
import { type ManagedProcess, waitUntilReady } from './managed-process.ts';
import type { NodeNetns } from './node-netns.ts';

/** How a kube-proxy writes its tables. */
export type KubeProxyMode = 'iptables' | 'nftables';

export interface KubeProxyOptions {
  readonly binaries: Binaries;
  readonly netns: NodeNetns;
  readonly version: KubeProxyVersion;
  readonly mode: KubeProxyMode;
  /** Name of its Node object, which should have the namespace's address. */
  readonly nodeName: string;
  /** Path of the kubeconfig. */
  readonly kubeconfig: string;
  /** More flags. They come last, so they win. */
  readonly extraArgs?: readonly string[];
  /** Wait until it has written its tables for the first time. Default true. */
  readonly wait?: boolean;
}

/** Starts a stock kube-proxy inside the namespace. */
export async function startKubeProxy(options: KubeProxyOptions): Promise<ManagedProcess> {
  const { binaries, netns, version, mode, nodeName, extraArgs = [], wait = true } = options;
  const process = netns.spawn({
    name: `kube-proxy ${version} (${mode})`,
    command: binaries.kubeProxy[version],
    args: [
      `--kubeconfig=${options.kubeconfig}`,
      `--hostname-override=${nodeName}`,
      `--proxy-mode=${mode}`,
      // Sysctls of the host, which a namespace can't set.
      '--conntrack-max-per-core=0',
      '--healthz-bind-address=127.0.0.1:10256',
      '--metrics-bind-address=127.0.0.1:10249',
      '--v=2',
      ...extraArgs,
    ],
    logFile: join(netns.folder, `kube-proxy-${version}-${mode}.log`),
  });
  if (!wait) return process;
  try {
    await waitUntilReady(process, async () => await hasSynced(netns));
  } catch (error) {
    await process.stop('SIGKILL');
    throw error;
  }
  return process;
}

/** /healthz answers 200 before anything is in the kernel, so it would say too little. */
async function hasSynced(netns: NodeNetns): Promise<boolean> {
  const metrics = (await netns.httpGet('http://127.0.0.1:10249/metrics'))?.body ?? '';
  const stamp = /^kubeproxy_sync_proxy_rules_last_timestamp_seconds\S* (\S+)$/m.exec(metrics)?.[1];
  return Number(stamp ?? 0) > 0;
}
