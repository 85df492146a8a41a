import type { KernelTable } from '../kernel-tables/kernel-table.ts';
import { parseIpvs } from '../kernel-tables/parse-ipvs.ts';
import type { Machine } from './machine.ts';

/** What the kernel holds for a node. */
export interface NodeTables {
  /** Where new connections go: by `TCP ip:port` of a virtual server the sorted `ip:port`. */
  readonly backends: KernelTable;
  /** Addresses on kube-ipvs0, which are those of all Services that the node serves. Sorted. */
  readonly addresses: readonly string[];
}

/** Between the parts of the answer. */
const mark = '=====';

/**
 * Reads the tables of a node, in one command: those who wait for a change ask all the time, and the machine is slow.
 */
export async function readTables(machine: Machine, nodeName: string): Promise<NodeTables> {
  // By its path, or the nsenter of busybox would run the ip of busybox.
  const enter = `nsenter --net=/run/netns/${nodeName}`;
  const addresses = `${enter} /usr/bin/ip -json address show dev kube-ipvs0`;
  const servers = `${enter} cat /proc/net/ip_vs`;
  const text = await machine.exec(`${servers} && echo ${mark} && ${addresses}`);
  const [ipvs = '', json = ''] = text.split(`${mark}\n`);
  const devices = JSON.parse(json) as { addr_info?: { local: string }[] }[];
  return {
    backends: parseIpvs(ipvs),
    addresses: devices.flatMap(({ addr_info = [] }) => addr_info.map(({ local }) => local)).sort(),
  };
}
