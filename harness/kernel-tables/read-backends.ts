import type { NodeNetns } from '../network/node-netns.ts';
import type { KubeProxyMode } from '../node/kube-proxy.ts';
import { parseIptables } from './parse-iptables.ts';
import { parseNftables } from './parse-nftables.ts';

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
  const isIPv6 = targets.some((target) => target.startsWith('['));
  if (isIPv6 && !targets.every((target) => target.startsWith('['))) {
    throw new Error('targets of both address families cannot be read together');
  }
  const table =
    mode === 'iptables'
      ? parseIptables(await netns.exec(isIPv6 ? 'ip6tables-save' : 'iptables-save', []))
      : parseNftables(await netns.exec('nft', listTable(isIPv6 ? 'ip6' : 'ip')));
  const found = targets.map((target) => [target, table.get(inTable(target))] as const);
  return new Map(found.flatMap(([target, backends]) => (backends ? [[target, backends]] : [])));
}

function listTable(family: 'ip' | 'ip6'): string[] {
  return ['-j', 'list', 'table', family, 'kube-proxy'];
}

/** As the table has it: `TCP ip:port`. */
function inTable(target: string): string {
  return target.endsWith('/udp') ? `UDP ${target.slice(0, -'/udp'.length)}` : `TCP ${target}`;
}
