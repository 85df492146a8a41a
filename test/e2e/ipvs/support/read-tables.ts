import type { Machine } from './machine.ts';
import { parseAddresses, parseIpvs, type VirtualServer } from './parse-ipvs.ts';

/** What the kernel holds for a node. */
export interface NodeTables {
  /** What `ipvsadm -Ln` shows. */
  readonly ipvs: readonly VirtualServer[];
  /** Addresses on kube-ipvs0, which are those of all Services that the node serves. Sorted. */
  readonly addresses: readonly string[];
}

/** Between the parts of the answer. */
const mark = '=====';

/**
 * Reads the tables of several nodes of a machine, in one command: those who wait for a change ask all the time, and
 * the machine is slow.
 */
export async function readTables(
  machine: Machine,
  nodeNames: readonly string[],
): Promise<NodeTables[]> {
  const command = nodeNames.map((name) => {
    // By their paths, or the nsenter of busybox would run the ip of busybox.
    const enter = `nsenter --net=/run/netns/${name}`;
    const ipvs = `${enter} /usr/sbin/ipvsadm -Ln && echo ${mark}`;
    return `${ipvs} && ${enter} /usr/bin/ip -json address show dev kube-ipvs0 && echo ${mark}`;
  });
  const parts = (await machine.exec(command.join(' && '))).split(`${mark}\n`);
  return nodeNames.map((_, index) => ({
    ipvs: parseIpvs(parts[2 * index] ?? ''),
    addresses: parseAddresses(parts[2 * index + 1] ?? ''),
  }));
}
