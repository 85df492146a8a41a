import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { createNode } from '../api-server/cluster-objects.ts';
import type { ControlPlane } from '../api-server/control-plane.ts';
import { writeKubeconfig } from '../api-server/kubeconfig.ts';
import { readBackends } from '../kernel-tables/read-backends.ts';
import { createNodeNetns, type NodeNetns } from '../network/node-netns.ts';
import { poll } from '../poll.ts';
import { withCleanups } from '../with-cleanups.ts';
import {
  type KubeProxyKind,
  type KubeProxyMode,
  type KubeProxyOptions,
  startKubeProxy,
} from './kube-proxy.ts';
import { startWrapper } from './wrapper.ts';

export interface WrappedNodeOptions {
  readonly plane: ControlPlane;
  readonly nodeName: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Settings that are written to a file of the wrapper's. Default: none. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Opens what the wrapper reads from, plain http without a token; returns its URL. Default: the API server. */
  readonly openUpstream?: (netns: NodeNetns) => Promise<string>;
}

export type WrappedNode = Awaited<ReturnType<typeof startWrappedNode>>;

/** A node with a wrapper, and kube-proxies that know the API server by no other name. */
export async function startWrappedNode(options: WrappedNodeOptions) {
  const { plane, nodeName, labels } = options;
  return await withCleanups(async (cleanups) => {
    const netns = await createNodeNetns();
    cleanups.defer(() => plane.admin.delete(`/api/v1/nodes/${nodeName}`));
    cleanups.defer(() => netns.stop());
    await createNode(plane.admin, nodeName, labels, netns.address);
    const kubeconfig =
      options.openUpstream === undefined
        ? plane.kubeconfig('wrapper', { server: plane.serverAt(netns.hostAddress) })
        : upstreamKubeconfig(netns, await options.openUpstream(netns));
    const config = writeSettings(netns.folder, options.settings);
    const start = async () => await startWrapper({ netns, nodeName, kubeconfig, ...config });
    let wrapper = await start();
    cleanups.defer(() => wrapper.stop('SIGKILL'));
    return {
      nodeName,
      netns,
      /** The wrapper that was started last. */
      wrapper: () => wrapper,
      /** Ends the wrapper, starts it again, and waits until it is ready. */
      restartWrapper: async () => {
        await wrapper.stop('SIGTERM');
        wrapper = await start();
      },
      /** Starts a kube-proxy behind the wrapper. */
      startKubeProxy: async (
        how: KubeProxyKind & Pick<KubeProxyOptions, 'ports'>,
        binaries: KubeProxyOptions['binaries'] = plane.binaries,
      ) => {
        const behind = plane.kubeconfig('kubeProxy', { server: wrapper.url });
        const options = { binaries, netns, nodeName, kubeconfig: behind, ...how };
        const kubeProxy = await startKubeProxy(options);
        cleanups.defer(() => kubeProxy.stop('SIGKILL'));
        return kubeProxy;
      },
    };
  });
}

function upstreamKubeconfig(netns: NodeNetns, server: string): string {
  const path = join(netns.folder, 'upstream.kubeconfig');
  writeKubeconfig(path, { server });
  return path;
}

function writeSettings(folder: string, settings: WrappedNodeOptions['settings']) {
  if (settings === undefined) return {};
  const configFile = join(folder, 'settings.yaml');
  writeFileSync(configFile, dump(settings));
  return { configFile };
}

/** Backends by `clusterIP:port`; undefined: no rule at all. */
export type Backends = Readonly<Record<string, readonly string[] | undefined>>;

/**
 * Waits until the kernel has just these backends, sorted, for each target, in any mode. Returns the milliseconds that
 * it took.
 */
export async function waitForBackends(
  netns: NodeNetns,
  mode: KubeProxyMode,
  wanted: Backends,
  timeoutMs = 30_000,
): Promise<number> {
  const missing = async () => {
    const table = await readBackends(netns, mode, Object.keys(wanted));
    return Object.entries(wanted).flatMap(([target, backends]) => {
      const found = table.get(target);
      return found?.join() === backends?.join() ? [] : [{ target, found, backends }];
    });
  };
  const what = `${mode}: no difference to the wanted backends`;
  const { elapsedMs } = await poll(missing, (list) => list.length === 0, { timeoutMs, what });
  return elapsedMs;
}
