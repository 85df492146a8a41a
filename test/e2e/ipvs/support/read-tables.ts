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

/** Reads the tables of a node, in one command: those who wait for a change ask all the time, and the machine is slow. */
export async function readTables(machine: Machine, nodeName: string): Promise<NodeTables> {
  // By their paths, or the nsenter of busybox would run the ip of busybox.
  const enter = `nsenter --net=/run/netns/${nodeName}`;
  const addresses = `${enter} /usr/bin/ip -json address show dev kube-ipvs0`;
  const text = await machine.exec(`${enter} /usr/sbin/ipvsadm -Ln && echo ${mark} && ${addresses}`);
  const [ipvs = '', json = ''] = text.split(`${mark}\n`);
  return { ipvs: parseIpvs(ipvs), addresses: parseAddresses(json) };
}
