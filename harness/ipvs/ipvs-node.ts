import { readFileSync } from 'node:fs';
import { createNode } from '../api-server/cluster-objects.ts';
import type { ControlPlane } from '../api-server/control-plane.ts';
import { startWrapper } from '../node/wrapper.ts';
import { type GuestMode, startGuestKubeProxy } from './guest-kube-proxy.ts';
import { hostLoopback, type Machine } from './machine.ts';
import { readTables } from './read-tables.ts';

export interface IpvsNodeOptions {
  readonly plane: ControlPlane;
  readonly machine: Machine;
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Path of the wrapper's settings file. */
  readonly configFile: string;
}

/** The node's own address, and the address of the machine at the other end of its veth. */
const NODE_ADDRESS = '10.77.1.2';
const GATEWAY = '10.77.1.1';

export type IpvsNode = Awaited<ReturnType<typeof startIpvsNode>>;

/**
 * A node: a network namespace inside the machine, with IPVS tables and a kube-proxy of its own, whose API server
 * is a wrapper of its own on the host.
 */
export async function startIpvsNode(options: IpvsNodeOptions) {
  const { plane, machine, nodeName, labels, configFile } = options;
  const { netns } = machine;
  await createNode(plane.admin, nodeName, labels, NODE_ADDRESS);
  await connectNamespace(machine, nodeName);
  const wrapper = await startWrapper({
    netns,
    nodeName,
    kubeconfig: plane.kubeconfig('wrapper', { server: plane.serverAt(netns.hostAddress) }),
    configFile,
  });
  const server = `http://${hostLoopback}:${new URL(wrapper.url).port}`;
  const kubeconfig = `/nodes/${nodeName}.kubeconfig`;
  await machine.writeFile(
    kubeconfig,
    readFileSync(plane.kubeconfig('kubeProxy', { server }), 'utf8'),
  );
  let kubeProxy = await startGuestKubeProxy(machine, nodeName, kubeconfig, 'ipvs');
  return {
    /** The end of kube-proxy's log. */
    kubeProxyLog: async () => await kubeProxy.log(),
    /** Ends kube-proxy and starts it in another mode, behind the same wrapper. */
    changeMode: async (mode: GuestMode) => {
      await kubeProxy.stop();
      kubeProxy = await startGuestKubeProxy(machine, nodeName, kubeconfig, mode);
    },
    /** What the kernel holds for it. */
    readTables: async () => await readTables(machine, nodeName),
    /** Runs a command of the shell in the node's namespace and returns its stdout. */
    exec: async (command: string) => await machine.execIn(nodeName, command),
    /** Ends its wrapper. What is inside the machine ends with the machine. */
    stop: async () => await wrapper.stop('SIGKILL'),
  };
}

/** A veth to the machine's main namespace, which masquerades what leaves the machine; see guest/boot.sh. */
async function connectNamespace(machine: Machine, name: string): Promise<void> {
  const commands = [
    `ip netns add ${name}`,
    `ip link add node type veth peer name eth0 netns ${name}`,
    `ip address add ${GATEWAY}/24 dev node`,
    'ip link set node up',
    `ip -n ${name} link set lo up`,
    `ip -n ${name} address add ${NODE_ADDRESS}/24 dev eth0`,
    `ip -n ${name} link set eth0 up`,
    `ip -n ${name} route add default via ${GATEWAY}`,
  ];
  await machine.exec(commands.join(' && '));
}
