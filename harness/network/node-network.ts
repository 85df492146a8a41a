import { runCommand } from '../process/run-command.ts';
import { createNodeNetns, type NodeNetns } from './node-netns.ts';

/** Nodes that reach each other. */
export interface NodeNetwork {
  /** Removes it. The nodes may be stopped before or after. */
  stop(): Promise<void>;
}

/** Connects nodes by a bridge, which has a namespace of its own so that it is swept up as those of nodes are. */
export async function connectNodes(nodes: readonly NodeNetns[]): Promise<NodeNetwork> {
  const hub = await createNodeNetns();
  try {
    const ip = async (netns: NodeNetns, lines: readonly string[]) =>
      await runCommand('ip', ['-n', netns.name, '-batch', '-'], { input: `${lines.join('\n')}\n` });
    await ip(hub, ['link add br0 type bridge', 'link set br0 up']);
    for (const [index, netns] of nodes.entries()) {
      await ip(hub, [
        `link add port${index} type veth peer name eth1 netns ${netns.name}`,
        `link set port${index} master br0 up`,
      ]);
      await ip(netns, [`addr add ${bridgeAddress(index)}/24 dev eth1`, 'link set eth1 up']);
    }
    for (const from of nodes) {
      // A node is known to others by its own address, not by that on the bridge.
      const routes = nodes.flatMap(({ name, address }, index) =>
        name === from.name
          ? []
          : [`route add ${address}/32 via ${bridgeAddress(index)} dev eth1 src ${from.address}`],
      );
      await ip(from, routes);
    }
    return { stop: async () => await hub.stop() };
  } catch (error) {
    await hub.stop();
    throw error;
  }
}

/** On the bridge; nobody else sees these. */
function bridgeAddress(index: number): string {
  return `10.98.0.${index + 1}`;
}
