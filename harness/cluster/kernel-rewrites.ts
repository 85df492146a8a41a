import { createInterface } from 'node:readline';
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
  const { stdout } = monitor.process.child;
  if (stdout === null) throw new Error('nft monitor has no stdout');
  let rules = 0;
  createInterface({ input: stdout }).on('line', (line) => {
    if (line.includes(`-${service}/`)) rules += 1;
  });
  return {
    /** How many there were so far. */
    count: () => rules,
    stop: async () => await monitor.stop('SIGKILL'),
  };
}
