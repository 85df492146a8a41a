import { withCleanups } from '../with-cleanups.ts';
import type { KubeProxyMode } from './kube-proxy.ts';
import {
  startWrappedNode,
  type WrappedNode,
  type WrappedNodeOptions,
  waitForBackends,
} from './wrapped-node.ts';

/** Backends by `clusterIP:port`; undefined: no rule at all. */
export type Backends = Readonly<Record<string, readonly string[] | undefined>>;

/** A wrapped node with one stock kube-proxy. */
export interface ServedNode extends WrappedNode {
  readonly mode: KubeProxyMode;
  /** Waits until the kernel has just these backends, in any order; returns the milliseconds that it took. */
  sees(wanted: Backends, timeoutMs?: number): Promise<number>;
}

interface ServedNodeOptions extends WrappedNodeOptions {
  readonly mode: KubeProxyMode;
}

async function startServedNode(options: ServedNodeOptions): Promise<ServedNode> {
  const { mode } = options;
  return await withCleanups(async (cleanups) => {
    const node = await startWrappedNode(options);
    cleanups.defer(() => node.stop());
    await node.startKubeProxy({ version: '1.36.3', mode });
    return {
      ...node,
      mode,
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
export interface Fleet {
  readonly all: readonly ServedNode[];
  /** The node of this name. */
  of(nodeName: string): ServedNode;
  /** Runs the same on every node, side by side. */
  each(run: (node: ServedNode) => Promise<unknown>): Promise<void>;
  stop(): Promise<void>;
}

/** Starts nodes in parallel. If one fails, the others are stopped before this rejects. */
export async function startFleet(options: readonly ServedNodeOptions[]): Promise<Fleet> {
  const results = await Promise.allSettled(options.map(startServedNode));
  const all = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const fleet: Fleet = {
    all,
    of: (nodeName) => {
      const node = all.find((candidate) => candidate.nodeName === nodeName);
      if (node === undefined) throw new Error(`there is no node ${nodeName}`);
      return node;
    },
    each: async (run) => void (await Promise.all(all.map(run))),
    stop: async () => void (await Promise.all(all.map(async (node) => await node.stop()))),
  };
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined) return fleet;
  await fleet.stop();
  throw failed.reason;
}
