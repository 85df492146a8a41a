import { withCleanups } from '../with-cleanups.ts';
import type { KubeProxyKind } from './kube-proxy.ts';
import {
  type Backends,
  startWrappedNode,
  type WrappedNodeOptions,
  waitForBackends,
} from './wrapped-node.ts';

/** A wrapped node with one stock kube-proxy. */
export type ServedNode = Awaited<ReturnType<typeof startServedNode>>;

type ServedNodeOptions = WrappedNodeOptions & Pick<KubeProxyKind, 'mode' | 'nodePortAddresses'>;

async function startServedNode(options: ServedNodeOptions) {
  const { mode, nodePortAddresses } = options;
  return await withCleanups(async (cleanups) => {
    const node = await startWrappedNode(options);
    cleanups.defer(() => node.stop());
    await node.startKubeProxy({ mode, nodePortAddresses });
    return {
      ...node,
      mode,
      /** Waits until the kernel has just these backends, in any order; returns the milliseconds that it took. */
      sees: async (wanted: Backends, timeoutMs?: number) =>
        await waitForBackends(node.netns, mode, inOrder(wanted), timeoutMs),
    };
  });
}

function inOrder(wanted: Backends): Backends {
  return Object.fromEntries(
    Object.entries(wanted).map(([target, backends]) => [target, backends?.toSorted()]),
  );
}

/** Nodes that were started together. */
export type Fleet = Awaited<ReturnType<typeof startFleet>>;

/** Starts nodes in parallel. If one fails, the others are stopped before this rejects. */
export async function startFleet(options: readonly ServedNodeOptions[]) {
  const results = await Promise.allSettled(options.map(startServedNode));
  const all = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const fleet = {
    all,
    /** The node of this name. */
    of: (nodeName: string) => {
      const node = all.find((candidate) => candidate.nodeName === nodeName);
      if (node === undefined) throw new Error(`there is no node ${nodeName}`);
      return node;
    },
    /** Runs the same on every node, side by side. */
    each: async (run: (node: ServedNode) => Promise<unknown>) =>
      void (await Promise.all(all.map(run))),
    stop: async () => void (await Promise.all(all.map(async (node) => await node.stop()))),
  };
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined) return fleet;
  await fleet.stop();
  throw failed.reason;
}
