import { Resolver } from 'node:dns/promises';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeNetns } from '../network/node-netns.ts';
import { waitUntilReady } from '../process/managed-process.ts';

const [DNS_PORT, READY_PORT] = [1053, 8181];

/**
 * Starts a CoreDNS inside the namespace and waits until it has listed what it needs. It has nothing but its kubernetes
 * plugin: without a cache its answers follow the API immediately.
 */
export async function startCoreDns(netns: NodeNetns, program: string, kubeconfig: string) {
  const corefile = join(netns.folder, 'Corefile');
  const kubernetes = `kubernetes cluster.local {\n kubeconfig ${kubeconfig}\n }`;
  writeFileSync(corefile, `.:${DNS_PORT} {\n errors\n ready :${READY_PORT}\n ${kubernetes}\n}\n`);
  const managed = netns.spawn({
    name: 'coredns',
    command: program,
    args: ['-conf', corefile],
    logFile: join(netns.folder, 'coredns.log'),
  });
  const readyz = `http://127.0.0.1:${READY_PORT}/ready`;
  await waitUntilReady(managed, async () => (await netns.httpGet(readyz))?.status === 200);
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  resolver.setServers([`${netns.address}:${DNS_PORT}`]);
  return {
    /** Addresses of `name.namespace.svc.cluster.local`, sorted. Empty: NXDOMAIN, or no address. */
    addresses: async (service: string) => {
      try {
        return (await resolver.resolve4(`${service}.svc.cluster.local`)).sort();
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ENOTFOUND' || code === 'ENODATA') return [];
        throw error;
      }
    },
    stop: async () => await managed.stop('SIGKILL'),
  };
}
