import { mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setNodeAddress } from '../../harness/api-server/cluster-objects.ts';
import type { ControlPlane } from '../../harness/api-server/control-plane.ts';
import { writeKubeconfig } from '../../harness/api-server/kubeconfig.ts';
import { createNodeNetns, type NodeNetns } from '../../harness/network/node-netns.ts';
import { type KubeProxyMode, startKubeProxy } from '../../harness/node/kube-proxy.ts';
import { startWrapper } from '../../harness/node/wrapper.ts';
import { ensureBinaries } from '../../harness/process/binaries.ts';
import type { ManagedProcess } from '../../harness/process/managed-process.ts';
import { runCommand } from '../../harness/process/run-command.ts';
import { searchPath } from '../../harness/process/search-path.ts';
import type { Target } from '../client.ts';
import { createProcessUsage, type ProcessUsage } from '../process-usage.ts';
import { NODE_NAME } from '../wrapper.ts';

/** A namespace with a stock kube-proxy and, if it has one, its wrapper. */
export interface MeasuredNode {
  readonly netns: NodeNetns;
  readonly kubeProxy: ManagedProcess & ProcessUsage;
  readonly wrapper: ProcessUsage | undefined;
  /** Path of the `iptables-save` that shows what kube-proxy has written. */
  readonly iptablesSave: string;
  /** When kube-proxy was started, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** kube-proxy's metrics; undefined while nothing answers. */
  metrics(): Promise<string | undefined>;
  /** Ends all and removes the namespace, tables and all. */
  stop(): Promise<void>;
}

export interface MeasuredNodeOptions {
  readonly plane: ControlPlane;
  readonly mode: KubeProxyMode;
  /** The server of kube-proxy. */
  readonly target: Target;
  /** Path of the wrapper. */
  readonly program: string;
}

/** Starts a wrapper, if one is asked for, waits until it is ready, and starts kube-proxy. Needs root. */
export async function startMeasuredNode(options: MeasuredNodeOptions): Promise<MeasuredNode> {
  const { plane, mode, target } = options;
  const netns = await createNodeNetns();
  const cleanups = [async () => await netns.stop()];
  const stop = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    await moveNode(plane, netns.address);
    const server = plane.serverAt(netns.hostAddress);
    const wrapper = target === 'wrapper' ? await startWrapperIn(netns, server, options) : undefined;
    if (wrapper !== undefined) cleanups.push(async () => await wrapper.stop());
    const kubeconfig = join(netns.folder, 'kube-proxy.kubeconfig');
    const { caFile, tokens } = plane;
    writeKubeconfig(kubeconfig, {
      server: wrapper?.url ?? server,
      caFile,
      token: tokens.kubeProxy,
    });
    const binaries = await ensureBinaries();
    const iptables = await makeLegacyIptables(netns);
    const startedAt = Date.now();
    const kubeProxy = await startKubeProxy({
      binaries,
      netns,
      mode,
      kubeconfig,
      nodeName: NODE_NAME,
      minSyncPeriod: 'stock',
      wait: false,
      env: { PATH: [iptables, searchPath()].join(delimiter) },
    });
    cleanups.push(async () => await kubeProxy.stop('SIGKILL'));
    return {
      netns,
      kubeProxy: { ...kubeProxy, ...createProcessUsage(kubeProxy.pid) },
      wrapper: wrapper && createProcessUsage(wrapper.pid),
      iptablesSave: join(iptables, 'iptables-save'),
      startedAt,
      metrics: async () => (await netns.httpGet('http://127.0.0.1:10249/metrics'))?.body,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** kube-proxy takes its address from the Node, and ends itself if that changes. */
async function moveNode(plane: ControlPlane, address: string): Promise<void> {
  await setNodeAddress(plane.admin, NODE_NAME, address);
}

async function startWrapperIn(netns: NodeNetns, server: string, options: MeasuredNodeOptions) {
  const { plane, program } = options;
  const kubeconfig = join(netns.folder, 'wrapper.kubeconfig');
  writeKubeconfig(kubeconfig, { server, caFile: plane.caFile, token: plane.tokens.wrapper });
  return await startWrapper({ netns, nodeName: NODE_NAME, kubeconfig, program });
}

/**
 * Makes a folder with the `iptables` that writes the kernel's own iptables, and returns its path. The one that
 * writes nftables rules in their place, as most systems have it, takes longer for 10,000 Services than anybody
 * waits: a kube-proxy that asked the API server had not written its first rules after nine minutes.
 */
async function makeLegacyIptables(netns: NodeNetns): Promise<string> {
  const folder = join(netns.folder, 'iptables-legacy');
  mkdirSync(folder);
  const program = (await runCommand('sh', ['-c', 'command -v xtables-legacy-multi'])).trim();
  for (const family of ['iptables', 'ip6tables'])
    for (const action of ['', '-save', '-restore'])
      symlinkSync(program, join(folder, `${family}${action}`));
  return folder;
}
