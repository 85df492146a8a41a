import type { KubeProxyMode } from './kube-proxy.ts';
import type { NodeNetns } from './node-netns.ts';
import { backendsInIptables } from './table-iptables.ts';
import { backendsInNftables } from './table-nftables.ts';

/**
 * Reads from the kernel, at one moment, where kube-proxy sends connections to each of `targets`
 * (`clusterIP:port`, with an IPv6 address in brackets; TCP, or UDP if `/udp` follows) in a namespace.
 *
 * @returns by target its endpoints as sorted `ip:port`; empty if it rejects them for want of
 *   endpoints; no entry if the target is in no table at all.
 */
export async function readBackends(
  netns: NodeNetns,
  mode: KubeProxyMode,
  targets: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const backendsIn = mode === 'iptables' ? backendsInIptables : backendsInNftables;
  const text = await (mode === 'iptables'
    ? saveIptables(netns, targets)
    : netns.exec('nft', ['-j', 'list', 'ruleset']));
  const table = new Map<string, readonly string[]>();
  for (const target of targets) {
    const backends = backendsIn(text, target);
    if (backends !== undefined) table.set(target, backends);
  }
  return table;
}

/** The rules of the families that are asked for; their chains have the same names. */
async function saveIptables(netns: NodeNetns, targets: readonly string[]): Promise<string> {
  const v6 = targets.filter((target) => target.startsWith('[')).length;
  if (v6 === 0) return await netns.exec('iptables-save', []);
  if (v6 === targets.length) return await netns.exec('ip6tables-save', []);
  throw new Error('targets of both address families cannot be read from iptables together');
}
