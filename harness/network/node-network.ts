import { runCommand } from '../process/run-command.ts';
import { withCleanups } from '../with-cleanups.ts';
import { createNodeNetns, type NodeNetns } from './node-netns.ts';

/**
 * Connects nodes by a bridge, which has a namespace of its own so that it is swept up as those of nodes are. They may
 * be stopped before it or after.
 */
export async function connectNodes(nodes: readonly NodeNetns[]) {
  return await withCleanups(async (cleanups) => {
    const hub = await createNodeNetns();
    cleanups.defer(() => hub.stop());
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
    return {};
  });
}

/** On the bridge; nobody else sees these. */
function bridgeAddress(index: number): string {
  return `10.98.0.${index + 1}`;
}
