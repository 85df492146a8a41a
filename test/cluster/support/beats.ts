import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../e2e/support/eventually.ts';
import type { Cluster } from './cluster.ts';
import type { ClusterNode } from './node.ts';

/** One change after the other, each of which must reach the kernel of every node. */
export interface Beats {
  /** Ends them, waits until the last one has arrived everywhere, and tells how late the latest was, by node. */
  stop(): Promise<Readonly<Record<string, number>>>;
}

const NAME = 'beat';
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';

/**
 * Changes the address of the only endpoint of a Service every `everyMs`. A change has arrived when the kernel of a node
 * reports a rule with its address, or with a later one. For kube-proxies in nftables mode.
 */
export async function startBeats(cluster: Cluster, everyMs: number): Promise<Beats> {
  const { admin } = cluster;
  await admin.create('/api/v1/namespaces/default/services', {
    metadata: { name: NAME },
    spec: { ports: [{ port: 80, targetPort: 8080 }] },
  });
  const slice = (index: number) => ({
    metadata: { name: NAME, labels: { 'kubernetes.io/service-name': NAME } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [addressOf(index)], conditions: { ready: true } }],
    ports: [{ port: 8080, protocol: 'TCP' }],
  });
  /** When each change was sent. */
  const sent: number[] = [];
  const kernels = cluster.nodes.map((node) => followKernel(node, sent));
  const send = async (index: number) => {
    sent.push(performance.now());
    if (index === 0) await admin.create(SLICES, slice(index));
    else await admin.update(`${SLICES}/${NAME}`, slice(index));
  };
  await send(0);
  await Promise.all(kernels.map(async (kernel) => await kernel.arrived(0)));
  let ending = false;
  const sending = (async () => {
    for (let index = 1; !ending; index += 1) {
      await sleep(everyMs);
      await send(index);
    }
  })();
  return {
    stop: async () => {
      ending = true;
      await sending;
      await Promise.all(kernels.map(async (kernel) => await kernel.arrived(sent.length - 1)));
      await Promise.all(kernels.map(async (kernel) => await kernel.stop()));
      await admin.delete(`/api/v1/namespaces/default/services/${NAME}`);
      await admin.delete(`${SLICES}/${NAME}`);
      return Object.fromEntries(kernels.map((kernel) => [kernel.node, kernel.latestMs()]));
    },
  };
}

function addressOf(index: number): string {
  return `10.9.${Math.floor(index / 250)}.${(index % 250) + 1}`;
}

interface Kernel {
  readonly node: string;
  /** Resolves when this change, or a later one, has arrived. */
  arrived(index: number): Promise<void>;
  latestMs(): number;
  stop(): Promise<void>;
}

function followKernel(node: ClusterNode, sent: readonly number[]): Kernel {
  const monitor = node.spawn({
    name: 'nft-monitor',
    command: 'nft',
    args: ['monitor', 'new'],
    piped: true,
  });
  const { stdout } = monitor.process.child;
  if (stdout === null) throw new Error('nft monitor has no stdout');
  let newest = -1;
  let latest = 0;
  createInterface({ input: stdout }).on('line', (line) => {
    for (const [, hundreds, rest] of line.matchAll(/\b10[.]9[.](\d+)[.](\d+)\b/g)) {
      const index = Number(hundreds) * 250 + Number(rest) - 1;
      // All that were sent since the newest have arrived with it; the first of them has waited longest.
      const waited = performance.now() - (sent[newest + 1] ?? performance.now());
      if (index > newest) latest = Math.max(latest, waited);
      newest = Math.max(newest, index);
    }
  });
  return {
    node: node.name,
    arrived: async (index) => {
      const what = `change ${index} in the kernel of ${node.name}`;
      await eventually(
        () => newest,
        (value) => value >= index,
        { timeoutMs: 30_000, what },
      );
    },
    latestMs: () => Math.round(latest),
    stop: async () => await monitor.stop('SIGKILL'),
  };
}
