import type { ControlPlane } from '../support/control-plane.ts';
import type { History } from '../support/history.ts';
import { backendsOf } from '../support/history-backends.ts';
import { startKubeProxy } from '../support/kube-proxy.ts';
import type { ManagedProcess } from '../support/managed-process.ts';
import { createNodeNetns, type NodeNetns } from '../support/node-netns.ts';
import { waitForBackends } from '../support/wrapped-node.ts';
import type { FaultNode } from './fault-node.ts';

/** A stock kube-proxy with a kernel of its own. */
export interface FaultKubeProxy {
  readonly name: string;
  start(): Promise<void>;
  stop(signal: NodeJS.Signals): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Waits until its kernel equals the model; resolves with the milliseconds. An error includes its log. */
  settle(history: History, more: Backends, timeoutMs: number): Promise<number>;
  /** Ends it, and its namespace if it has one of its own. */
  close(): Promise<void>;
}

type Backends = Readonly<Record<string, readonly string[]>>;

/** 1.36.3 (nftables, streaming list) beside the wrapper, 1.33.13 (iptables, LIST) in a second namespace. */
export async function startKubeProxies(
  plane: ControlPlane,
  node: FaultNode,
  nodeName: string,
): Promise<FaultKubeProxy[]> {
  const other = await createNodeNetns();
  const socket = `${other.folder}/wrapper.sock`;
  const { host } = new URL(node.url);
  await node.netns.relay(socket, host);
  await other.relay(host, socket);
  const kubeconfig = plane.kubeconfig('kubeProxy', { server: node.url });
  const common = { binaries: plane.binaries, nodeName, kubeconfig };
  const beside = { netns: node.netns, version: '1.36.3', mode: 'nftables' } as const;
  const apart = { netns: other, version: '1.33.13', mode: 'iptables' } as const;
  const kubeProxies = [
    describeKubeProxy({ ...common, ...beside }, nodeName),
    describeKubeProxy({ ...common, ...apart }, nodeName, other),
  ];
  await Promise.all(kubeProxies.map(async (kubeProxy) => await kubeProxy.start()));
  return kubeProxies;
}

function describeKubeProxy(
  options: Parameters<typeof startKubeProxy>[0],
  self: string,
  own?: NodeNetns,
): FaultKubeProxy {
  const { netns, mode, version } = options;
  let running: ManagedProcess | undefined;
  return {
    name: `${version} ${mode}`,
    start: async () => {
      running = await startKubeProxy({ ...options, wait: false });
    },
    stop: async (signal) => await running?.stop(signal),
    signal: (signal) => running?.child.kill(signal),
    settle: async (history, more, timeoutMs) => {
      const wanted = { ...backendsOf(history, self), ...more };
      try {
        return await waitForBackends(netns, mode, wanted, timeoutMs);
      } catch (cause) {
        const log = running?.log().slice(-6_000);
        throw new Error(`${(cause as Error).message}\nlog of ${version}: ${log}`, { cause });
      }
    },
    close: async () => {
      await running?.stop('SIGKILL');
      await own?.stop();
    },
  };
}
