import type { ControlPlane } from '../api-server/control-plane.ts';
import { createNodeNetns, type NodeNetns } from '../network/node-netns.ts';
import type { ManagedProcess } from '../process/managed-process.ts';
import { startKubeProxy } from './kube-proxy.ts';
import { type Backends, waitForBackends } from './wrapped-node.ts';

/** A stock kube-proxy with a kernel of its own. */
export type KernelKubeProxy = ReturnType<typeof describeKubeProxy>;

/** The wrapper of a node, for its kube-proxies. */
export interface WrapperOfNode {
  readonly nodeName: string;
  readonly netns: NodeNetns;
  readonly url: string;
}

/** One in nftables mode beside the wrapper, and one in a second namespace in iptables mode, without streaming lists. */
export async function createKubeProxies(
  plane: ControlPlane,
  { nodeName, netns, url }: WrapperOfNode,
): Promise<KernelKubeProxy[]> {
  const other = await createNodeNetns();
  const socket = `${other.folder}/wrapper.sock`;
  const { host } = new URL(url);
  await netns.relay(socket, host);
  await other.relay(host, socket);
  const kubeconfig = plane.kubeconfig('kubeProxy', { server: url });
  const common = { binaries: plane.binaries, nodeName, kubeconfig };
  const beside = { netns, mode: 'nftables' } as const;
  const apart = { netns: other, mode: 'iptables', streamingLists: false } as const;
  return [
    describeKubeProxy({ ...common, ...beside }),
    describeKubeProxy({ ...common, ...apart }, other),
  ];
}

function describeKubeProxy(options: Parameters<typeof startKubeProxy>[0], own?: NodeNetns) {
  const { netns, mode } = options;
  const name = `kube-proxy in ${mode} mode`;
  let running: ManagedProcess | undefined;
  return {
    name,
    /** @param wait until it has written its tables */
    start: async (wait: boolean) => {
      running = await startKubeProxy({ ...options, wait });
    },
    stop: async (signal?: NodeJS.Signals) => await running?.stop(signal),
    signal: (signal: NodeJS.Signals) => running?.child.kill(signal),
    /** How it ended, such as `code 1`; undefined while it runs. */
    ending: () => running?.ending(),
    /** What it has written since its first start. */
    log: () => running?.log() ?? '',
    /** Waits until its kernel has just these backends; resolves with the milliseconds. An error includes its log. */
    settle: async (wanted: Backends, timeoutMs: number) => {
      try {
        return await waitForBackends(netns, mode, wanted, timeoutMs);
      } catch (cause) {
        const log = running?.log().slice(-6_000);
        throw new Error(`${(cause as Error).message}\nlog of ${name}: ${log}`, { cause });
      }
    },
    /** Ends it, and its namespace if it has one of its own. */
    close: async () => {
      await running?.stop('SIGKILL');
      await own?.stop();
    },
  };
}
