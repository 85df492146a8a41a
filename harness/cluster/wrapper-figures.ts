import { poll } from '../poll.ts';
import type { Cluster } from './cluster.ts';

/** The way back to a relay, with its spread, takes a minute and a quarter of it; the rest is for a busy machine. */
const RETURN_MS = 180_000;

/** What wrappers of a cluster say about themselves, and what the API server says about them. */
export function createWrapperFigures(cluster: Cluster) {
  const metrics = async (node: string): Promise<string> => {
    const request = 'GET /metrics HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nConnection: close\\r\\n\\r\\n';
    const get = `exec 3<>/dev/tcp/127.0.0.1/10361; printf "${request}" >&3; cat <&3`;
    return await cluster.node(node).exec('bash', ['-c', get]);
  };
  return {
    metrics,
    /** Waits until the wrapper of a node reads from one of these servers, `host:port`. */
    reads: async (node: string, servers: readonly string[]): Promise<void> => {
      const used = /upstream_server_in_use\{server="([^"]+)"\} 1/;
      await poll(
        async () => used.exec(await metrics(node))?.[1] ?? '',
        (server) => servers.includes(server),
        { timeoutMs: RETURN_MS, intervalMs: 500, what: `${node} reads from ${servers}` },
      );
    },
    /** The lists of Services and slices that the API server got since a time: the Pod that asked, and what it asked. */
    lists: (since: number): string[] =>
      cluster
        .requests({ since })
        .filter(({ resource }) => ['services', 'endpointslices'].includes(resource))
        .filter(({ verb, uri }) => verb === 'list' || uri.includes('sendInitialEvents=true'))
        .map(({ pod, resource }) => `${pod} ${resource}`),
  };
}
