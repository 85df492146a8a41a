import { readLines } from '../process/managed-process.ts';
import type { ClusterNode } from './node.ts';

/**
 * Counts the rules of a Service that the kernel of a node reports as new.
 *
 * @param service `namespace/name`. For a kube-proxy in nftables mode, whose chains have that name.
 */
export function countKernelRewrites(node: ClusterNode, service: string) {
  const monitor = node.spawn({
    name: 'nft-monitor-rewrites',
    command: 'nft',
    args: ['monitor', 'new', 'rules'],
    piped: true,
  });
  let rules = 0;
  readLines(monitor.process, (line) => {
    if (line.includes(`-${service}/`)) rules += 1;
  });
  return {
    /** How many there were so far. */
    count: () => rules,
    stop: async () => await monitor.stop('SIGKILL'),
  };
}
