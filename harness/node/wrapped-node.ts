import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { createNode } from '../api-server/cluster-objects.ts';
import type { ControlPlane } from '../api-server/control-plane.ts';
import { eventually } from '../eventually.ts';
import { readBackends } from '../kernel-tables/read-backends.ts';
import { createNodeNetns, type NodeNetns } from '../network/node-netns.ts';
import type { ManagedProcess } from '../process/managed-process.ts';
import { type KubeProxyMode, type KubeProxyOptions, startKubeProxy } from './kube-proxy.ts';
import { startWrapper, type Wrapper, type WrapperOptions } from './wrapper.ts';

export interface WrappedNodeOptions {
  readonly plane: ControlPlane;
  readonly nodeName: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Settings that are written to a file of the wrapper's. Default: none. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

export type WrappedNode = Awaited<ReturnType<typeof startWrappedNode>>;

/** A node with a wrapper, and kube-proxies that know the API server by no other name. */
export async function startWrappedNode(options: WrappedNodeOptions) {
  const { plane, nodeName, labels } = options;
  const netns = await createNodeNetns();
  const running: ManagedProcess[] = [];
  const replaced: ManagedProcess[] = [];
  let wrapper: Wrapper | undefined;
  const current = () => {
    if (wrapper === undefined) throw new Error('the wrapper was never started');
    return wrapper;
  };
  const kubeconfig = plane.kubeconfig('wrapper', { server: plane.serverAt(netns.hostAddress) });
  const config = writeSettings(netns.folder, options.settings);
  const node = {
    nodeName,
    netns,
    /** The wrapper that was started last. */
    wrapper: current,
    stopWrapper: async (signal: NodeJS.Signals) => await current().stop(signal),
    /** Starts the wrapper again and, by default, waits until it is ready. */
    startWrapper: async (how: Pick<WrapperOptions, 'wait' | 'runBy'> = {}) => {
      wrapper = await startWrapper({ netns, nodeName, kubeconfig, ...config, ...how });
    },
    /**
     * A planned restart: starts the next process at the same addresses and sends SIGTERM to the last one, both at
     * once; the settings need `handoverSeconds`. Resolves when the last one has gone.
     */
    replaceWrapper: async () => {
      const last = current();
      wrapper = await startWrapper({ netns, nodeName, kubeconfig, ...config, wait: false });
      replaced.push(last);
      await last.stop('SIGTERM', 60_000);
    },
    /** Starts a kube-proxy behind the wrapper. */
    startKubeProxy: async (how: Pick<KubeProxyOptions, 'ports' | 'wait' | 'version' | 'mode'>) => {
      const proxyConfig = plane.kubeconfig('kubeProxy', { server: current().url });
      const { binaries } = plane;
      const kubeProxy = await startKubeProxy({
        binaries,
        netns,
        nodeName,
        kubeconfig: proxyConfig,
        ...how,
      });
      running.push(kubeProxy);
      return kubeProxy;
    },
    /** Ends all that runs on it, and deletes its Node. */
    stop: async () => {
      for (const process of [...running, ...replaced]) await process.stop('SIGKILL');
      await wrapper?.stop('SIGKILL');
      await netns.stop();
      await plane.admin.delete(`/api/v1/nodes/${nodeName}`);
    },
  };
  try {
    await createNode(plane.admin, nodeName, labels, netns.address);
    await node.startWrapper();
    return node;
  } catch (error) {
    await node.stop();
    throw error;
  }
}

function writeSettings(folder: string, settings: WrappedNodeOptions['settings']) {
  if (settings === undefined) return {};
  const configFile = join(folder, 'settings.yaml');
  writeFileSync(configFile, dump(settings));
  return { configFile };
}

/**
 * Waits until the kernel has just these backends (sorted; undefined: the target is in no table) for each
 * target, in any mode. Returns the milliseconds that it took.
 */
export async function waitForBackends(
  netns: NodeNetns,
  mode: KubeProxyMode,
  wanted: Readonly<Record<string, readonly string[] | undefined>>,
  timeoutMs = 10_000,
): Promise<number> {
  const missing = async () => {
    const table = await readBackends(netns, mode, Object.keys(wanted));
    return Object.entries(wanted).flatMap(([target, backends]) => {
      const found = table.get(target);
      return found?.join() === backends?.join() ? [] : [{ target, found, backends }];
    });
  };
  const what = `${mode}: no difference to the wanted backends`;
  const { elapsedMs } = await eventually(missing, (list) => list.length === 0, { timeoutMs, what });
  return elapsedMs;
}
