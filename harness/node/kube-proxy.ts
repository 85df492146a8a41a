import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeNetns } from '../network/node-netns.ts';
import type { Binaries } from '../process/binaries.ts';
import { type ManagedProcess, waitUntilReady } from '../process/managed-process.ts';

/** How a kube-proxy writes its tables. */
export type KubeProxyMode = 'iptables' | 'nftables';

/** How a kube-proxy writes its tables, and how it reads. */
export interface KubeProxyKind {
  readonly mode: KubeProxyMode;
  /** False: it lists and then watches, as all did before 1.35. Default true. */
  readonly streamingLists?: boolean;
  /** CIDRs or, since 1.37, keywords. Default: the addresses that kube-proxy itself takes, by its mode. */
  readonly nodePortAddresses?: readonly string[] | undefined;
}

export interface KubeProxyOptions extends KubeProxyKind {
  readonly binaries: Pick<Binaries, 'kubeProxy'>;
  readonly netns: NodeNetns;
  /** Name of its Node object, which should have the namespace's address. */
  readonly nodeName: string;
  /** Path of the kubeconfig. */
  readonly kubeconfig: string;
  /** Its ports for health and metrics, so that two fit in one namespace. Default 10256 and 10249. */
  readonly ports?: { readonly healthz: number; readonly metrics: number };
  /** How long it waits at least between two syncs. Default 1ms; `stock` is its own default, a second. */
  readonly minSyncPeriod?: '1ms' | 'stock';
  /** Environment variables on top of our own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Wait until it has written its tables for the first time. Default true. */
  readonly wait?: boolean;
}

/**
 * Starts a stock kube-proxy inside the namespace. It writes its tables as soon as it gets an event: by
 * default it does so once a second at most, which would hide how long everybody before it takes.
 */
export async function startKubeProxy(options: KubeProxyOptions): Promise<ManagedProcess> {
  const { binaries, netns, mode, streamingLists = true, wait = true } = options;
  const { healthz, metrics } = options.ports ?? { healthz: 10256, metrics: 10249 };
  const name = `kube-proxy-${mode}-${metrics}`;
  const config = join(netns.folder, `${name}.json`);
  const { minSyncPeriod = '1ms' } = options;
  const pace = minSyncPeriod === 'stock' ? {} : { minSyncPeriod };
  writeFileSync(
    config,
    JSON.stringify({
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      clientConnection: { kubeconfig: options.kubeconfig },
      hostnameOverride: options.nodeName,
      mode,
      nodePortAddresses: options.nodePortAddresses,
      ...(streamingLists ? {} : { featureGates: { WatchListClient: false } }),
      iptables: pace,
      nftables: pace,
      // Sysctls of the host, which a namespace can't set.
      conntrack: { maxPerCore: 0 },
      healthzBindAddress: `127.0.0.1:${healthz}`,
      metricsBindAddress: `127.0.0.1:${metrics}`,
    }),
  );
  const process = netns.spawn({
    name,
    command: binaries.kubeProxy,
    args: ['--config', config, '--v=2'],
    logFile: join(netns.folder, `${name}.log`),
    env: options.env ?? {},
  });
  if (wait) await waitUntilReady(process, async () => await hasSynced(netns, metrics));
  return process;
}

/** /healthz answers 200 before anything is in the kernel, so it would say too little. */
async function hasSynced(netns: NodeNetns, port: number): Promise<boolean> {
  const metrics = (await netns.httpGet(`http://127.0.0.1:${port}/metrics`))?.body ?? '';
  const stamp = /^kubeproxy_sync_proxy_rules_last_timestamp_seconds\S* (\S+)$/m.exec(metrics)?.[1];
  return Number(stamp ?? 0) > 0;
}
