import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setNodeAddress } from '../../../e2e/support/cluster-objects.ts';
import type { ControlPlane } from '../../../e2e/support/control-plane.ts';
import { startKubeProxy } from '../../../e2e/support/kube-proxy.ts';
import type { ManagedProcess } from '../../../e2e/support/managed-process.ts';
import { createNodeNetns } from '../../../e2e/support/node-netns.ts';
import type { HostWrapper } from './host-wrapper.ts';

/** A stock kube-proxy in a network namespace, behind a wrapper on loopback of this machine. */
export interface KubeProxyNode {
  /** Starts the kube-proxy, and waits until it has written its tables; the milliseconds until then. */
  start(): Promise<number>;
  /** Ends it. */
  end(): Promise<void>;
  /** Ends it and removes its namespace. */
  stop(): Promise<void>;
}

/** Makes the namespace, and gives its address to the Node of the wrapper. */
export async function createKubeProxyNode(
  plane: ControlPlane,
  wrapper: HostWrapper,
): Promise<KubeProxyNode> {
  const { nodeName } = wrapper;
  const netns = await createNodeNetns();
  await setNodeAddress(plane.admin, nodeName, netns.address);
  // Plain http is served on loopback only, which is another one in the namespace.
  const sockets = new Set<Socket>();
  const relay = createServer((client) => {
    const server = connect(wrapper.port, '127.0.0.1');
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    }
    pipeline(client, server, client).catch(() => {});
  }).listen(0, netns.hostAddress);
  await once(relay, 'listening');
  const { port } = relay.address() as { port: number };
  const server = `http://${netns.hostAddress}:${port}`;
  const kubeconfig = plane.kubeconfig('kubeProxy', { server });
  let running: ManagedProcess | undefined;
  const end = async (): Promise<void> => await running?.stop('SIGKILL');
  return {
    start: async () => {
      const start = performance.now();
      const { binaries } = plane;
      running = await startKubeProxy({
        ...{ binaries, netns, nodeName, kubeconfig, version: '1.36.3', mode: 'nftables' },
      });
      return Math.round(performance.now() - start);
    },
    end,
    stop: async () => {
      await end();
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => relay.close(done));
      await netns.stop();
    },
  };
}
