import { createNodeNetns, type NodeNetns } from './node-netns.ts';
import { runCommand } from './run-command.ts';

/** Nodes that reach each other, and each other's pods. */
export interface NodeNetwork {
  /** Removes it. The nodes may be stopped before or after. */
  stop(): Promise<void>;
}

/**
 * Connects nodes by a bridge, which has a namespace of its own so that it is swept up as those of nodes are.
 *
 * @param pods further addresses on each node that the others can reach
 */
export async function connectNodes(
  nodes: readonly { readonly netns: NodeNetns; readonly pods: readonly string[] }[],
): Promise<NodeNetwork> {
  const hub = await createNodeNetns();
  try {
    const ip = async (netns: NodeNetns, lines: readonly string[]) =>
      await runCommand('ip', ['-n', netns.name, '-batch', '-'], { input: `${lines.join('\n')}\n` });
    await ip(hub, ['link add br0 type bridge', 'link set br0 up']);
    for (const [index, { netns }] of nodes.entries()) {
      await ip(hub, [
        `link add port${index} type veth peer name eth1 netns ${netns.name}`,
        `link set port${index} master br0 up`,
      ]);
      await ip(netns, [`addr add ${bridgeAddress(index)}/24 dev eth1`, 'link set eth1 up']);
    }
    for (const from of nodes) {
      const routes = nodes.flatMap(({ netns, pods }, index) =>
        netns === from.netns ? [] : routesTo([netns.address, ...pods], index, from.netns.address),
      );
      await ip(from.netns, routes);
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

/** A node is known to others by its own address, not by that on the bridge. */
function routesTo(addresses: readonly string[], index: number, source: string): string[] {
  return addresses.map(
    (address) => `route add ${address}/32 via ${bridgeAddress(index)} dev eth1 src ${source}`,
  );
}
