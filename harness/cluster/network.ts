import { existsSync, readdirSync } from 'node:fs';
import { type ProcessOptions, startProcess } from '../process/managed-process.ts';
import { runCommand } from '../process/run-command.ts';
import { prefixOf } from './owner.ts';

/**
 *   this process ── veth ── hub: API server 192.0.2.1, bridge ─┬─ edge-1 192.0.2.11, Pods 10.244.1.0/24
 *   10.203.<number>.1       10.203.<number>.2                  ├─ edge-2 192.0.2.12, Pods 10.244.2.0/24
 *                                                              └─ …
 * The hub and each node are network namespaces. So the addresses are the same in each cluster, and those of the
 * documents. Only the veth differs.
 */
export type ClusterNetwork = Awaited<ReturnType<typeof createNetwork>>;

/** Where the API server listens for nodes and Pods; the address that the documents use. */
export const API_SERVER = { address: '192.0.2.1', port: 6443 } as const;

export function nodeAddress(index: number): string {
  return `192.0.2.${10 + index}`;
}

export function podCidr(index: number): string {
  return `10.244.${index}.0/24`;
}

/** Makes the hub. */
export async function createNetwork(number: number) {
  const hub = prefixOf(number);
  const host = hostLink(number);
  const hubAddress = `10.203.${number}.2`;
  await runCommand('ip', ['netns', 'add', hub]);
  await ip([
    `link add ${host} type veth peer name up0 netns ${hub}`,
    `addr add 10.203.${number}.1/24 dev ${host}`,
    `link set ${host} up`,
  ]);
  const inside = async (lines: readonly string[]) => await ip(lines, hub);
  await inside([
    'link set lo up',
    `addr add ${hubAddress}/24 dev up0`,
    'link set up0 up',
    'link add br0 type bridge',
    `addr add ${API_SERVER.address}/24 dev br0`,
    'link set br0 up',
  ]);
  return {
    /** Address at which this process reaches what listens in the hub. */
    hubAddress,
    /** Starts a process in the hub. */
    spawn: (options: ProcessOptions) =>
      startProcess({
        ...options,
        command: 'nsenter',
        args: [`--net=/run/netns/${hub}`, '--', options.command, ...options.args],
      }),
    /** Makes the namespace of a node (1, 2, …) and connects it. Returns its path. */
    addNode: async (index: number, of: number) => {
      const name = `${hub}-${index}`;
      await runCommand('ip', ['netns', 'add', name]);
      await inside([
        `link add port${index} type veth peer name eth0 netns ${name}`,
        `link set port${index} master br0 up`,
        `route replace ${podCidr(index)} via ${nodeAddress(index)}`,
      ]);
      const others = Array.from({ length: of }, (_, other) => other + 1).filter((n) => n !== index);
      await ip(
        [
          'link set lo up',
          `addr add ${nodeAddress(index)}/24 dev eth0`,
          'link set eth0 up',
          `route add default via ${API_SERVER.address}`,
          ...others.map((other) => `route add ${podCidr(other)} via ${nodeAddress(other)}`),
        ],
        name,
      );
      return `/run/netns/${name}`;
    },
    removeNode: async (index: number) => {
      // The veth goes first. With the namespace it would go too, but some time later.
      await inside([`link delete port${index}`]);
      await runCommand('ip', ['netns', 'delete', `${hub}-${index}`]);
    },
  };
}

/** Removes the hub and all nodes, also those of a process that was killed. */
export async function removeNetwork(number: number): Promise<void> {
  const host = hostLink(number);
  if (existsSync(`/sys/class/net/${host}`)) await runCommand('ip', ['link', 'delete', host]);
  if (!existsSync('/run/netns')) return;
  const isOurs = new RegExp(`^${prefixOf(number)}(-\\d+)?$`);
  for (const name of readdirSync('/run/netns').filter((each) => isOurs.test(each))) {
    await runCommand('ip', ['netns', 'delete', name]);
  }
}

function hostLink(number: number): string {
  return `kpwch${number}`;
}

async function ip(lines: readonly string[], namespace?: string): Promise<void> {
  const where = namespace === undefined ? [] : ['-n', namespace];
  await runCommand('ip', [...where, '-batch', '-'], { input: `${lines.join('\n')}\n` });
}
