import { readFileSync } from 'node:fs';
import { createNode } from '../../support/cluster-objects.ts';
import type { ControlPlane } from '../../support/control-plane.ts';
import { startWrapper, type Wrapper } from '../../support/wrapper.ts';
import { type GuestKubeProxy, type Scheduler, startGuestKubeProxy } from './guest-kube-proxy.ts';
import { hostLoopback, type Machine } from './machine.ts';
import { type NodeTables, readTables } from './read-tables.ts';

export interface IpvsNodeOptions {
  readonly plane: ControlPlane;
  readonly machine: Machine;
  readonly nodeName: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** From 1 on, another one for each node of a machine. */
  readonly number: number;
  /** Path of the wrapper's settings file. Default: none. */
  readonly configFile?: string;
}

/**
 * A node: a network namespace inside the machine, with IPVS tables and a kube-proxy of its own, whose API server
 * is a wrapper of its own on the host.
 */
export interface IpvsNode {
  readonly nodeName: string;
  /** The node's own address. */
  readonly address: string;
  readonly wrapper: Wrapper;
  /** The kube-proxy that was started last. */
  kubeProxy(): GuestKubeProxy;
  /** Starts kube-proxy, in the place of the one that runs, and waits for its first sync. */
  startKubeProxy(scheduler?: Scheduler): Promise<void>;
  /** What the kernel holds for it. */
  readTables(): Promise<NodeTables>;
  /** Runs a command of the shell in the node's namespace and returns its stdout. */
  exec(command: string): Promise<string>;
  /** Ends its wrapper. What is inside the machine ends with the machine. */
  stop(): Promise<void>;
}

/** Makes the Node and its namespace, and starts the wrapper; kube-proxy is not started yet. */
export async function startIpvsNode(options: IpvsNodeOptions): Promise<IpvsNode> {
  const { plane, machine, nodeName, labels, number, configFile } = options;
  const address = `10.77.${number}.2`;
  await createNode(plane.admin, nodeName, labels, address);
  await connectNamespace(machine, nodeName, number);
  const port = 10_360 + 10 * number;
  const wrapper = await startWrapper({
    netns: machine.netns,
    nodeName,
    name: `wrapper-${nodeName}`,
    kubeconfig: plane.kubeconfig('wrapper', { server: plane.serverAt(machine.netns.hostAddress) }),
    listen: `127.0.0.1:${port}`,
    adminListen: `127.0.0.1:${port + 1}`,
    ...(configFile === undefined ? {} : { configFile }),
  });
  const server = `http://${hostLoopback}:${port}`;
  const kubeconfig = `/nodes/${nodeName}.kubeconfig`;
  await machine.writeFile(
    kubeconfig,
    readFileSync(plane.kubeconfig('kubeProxy', { server }), 'utf8'),
  );
  const exec = async (command: string) => await machine.execIn(nodeName, command);
  let running: GuestKubeProxy | undefined;
  return {
    nodeName,
    address,
    wrapper,
    kubeProxy: () => {
      if (running === undefined) throw new Error('kube-proxy was never started');
      return running;
    },
    startKubeProxy: async (scheduler) => {
      await running?.stop();
      const how = scheduler === undefined ? {} : { scheduler };
      running = await startGuestKubeProxy({ machine, nodeName, kubeconfig, ...how });
    },
    readTables: async () => {
      const [tables] = await readTables(machine, [nodeName]);
      return tables as NodeTables;
    },
    exec,
    stop: async () => await wrapper.stop('SIGKILL'),
  };
}

/** A veth to the machine's main namespace, which masquerades what leaves the machine; see guest/boot.sh. */
async function connectNamespace(machine: Machine, name: string, number: number): Promise<void> {
  const gateway = `10.77.${number}.1`;
  const commands = [
    `ip netns add ${name}`,
    `ip link add node${number} type veth peer name eth0 netns ${name}`,
    `ip address add ${gateway}/24 dev node${number}`,
    `ip link set node${number} up`,
    `ip -n ${name} link set lo up`,
    `ip -n ${name} address add 10.77.${number}.2/24 dev eth0`,
    `ip -n ${name} link set eth0 up`,
    `ip -n ${name} route add default via ${gateway}`,
  ];
  await machine.exec(commands.join(' && '));
}
