import type { KubeProxyMode } from './kube-proxy.ts';
import type { NodeNetns } from './node-netns.ts';
import { backendsInIptables } from './table-iptables.ts';
import { backendsInNftables } from './table-nftables.ts';

/**
 * Reads from the kernel, at one moment, where kube-proxy sends connections to each of `targets`
 * (`clusterIP:port`, TCP) in a namespace.
 *
 * @returns by target its endpoints as sorted `ip:port`; empty if it rejects them for want of
 *   endpoints; no entry if the target is in no table at all.
 */
export async function readBackends(
  netns: NodeNetns,
  mode: KubeProxyMode,
  targets: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const [text, backendsIn] =
    mode === 'iptables'
      ? [await netns.exec('iptables-save', []), backendsInIptables]
      : [await netns.exec('nft', ['-j', 'list', 'ruleset']), backendsInNftables];
  const table = new Map<string, readonly string[]>();
  for (const target of targets) {
    const backends = backendsIn(text, target);
    if (backends !== undefined) table.set(target, backends);
  }
  return table;
}
