import type { KubeProxyMode } from './kube-proxy.ts';
import type { NodeNetns } from './node-netns.ts';
import { backendsInIptables } from './table-iptables.ts';
import { backendsInNftables } from './table-nftables.ts';

/**
 * Reads from the kernel where kube-proxy sends connections to `target` (`clusterIP:port`, TCP) in
 * a namespace.
 *
 * @returns its endpoints as sorted `ip:port`; empty if it rejects them for want of endpoints;
 *   undefined if the target is in no table at all.
 */
export async function readBackends(
  netns: NodeNetns,
  mode: KubeProxyMode,
  target: string,
): Promise<string[] | undefined> {
  if (mode === 'iptables') {
    return backendsInIptables(await netns.exec('iptables-save', []), target);
  }
  return backendsInNftables(await netns.exec('nft', ['-j', 'list', 'ruleset']), target);
}
