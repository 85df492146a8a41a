import { KubeConfig } from '@kubernetes/client-node';
import { ok, problem, type StatusLine, unknown } from '../../../admin/status/status-line.ts';
import { reading } from '../../../read-yaml.ts';
import { messageOf } from '../../../util/message-of.ts';
import { findKubeProxies } from './kube-proxy-process.ts';
import {
  leadsToListener,
  namesListener,
  serversOf,
  type WrapperListener,
} from './wrapper-listeners.ts';

/** Checks that the kubeconfig of kube-proxy names the wrapper as its server. */
export async function checkKubeconfig(
  file: string,
  listeners: readonly WrapperListener[],
): Promise<StatusLine> {
  let server: string | undefined;
  try {
    server = reading(file, () => readServer(file));
  } catch (error) {
    return problem('kubeconfig', messageOf(error), 'correct the file, or --kube-proxy-kubeconfig');
  }
  if (server !== undefined && (await namesListener(server, listeners))) {
    return ok('kubeconfig', `${file} names ${server}`);
  }
  return problem(
    'kubeconfig',
    `${file} names ${server || 'no server'}, but the wrapper listens at ${listeners.map(({ url }) => url).join(' and ')}`,
    `set server: ${serversOf(listeners)} in it, and restart kube-proxy`,
  );
}

/** The server of the current context, else of the first cluster. */
function readServer(file: string): string | undefined {
  const config = new KubeConfig();
  config.loadFromFile(file, { onInvalidEntry: 'filter' });
  const cluster = config.getCurrentCluster() ?? config.getClusters()[0];
  return cluster?.server;
}

/** Checks that kube-proxy is connected to the wrapper, and to nothing else that could be an API server. */
export async function checkSockets(
  listeners: readonly WrapperListener[],
  proc = '/proc',
): Promise<StatusLine> {
  const processes = await findKubeProxies(proc);
  if (processes.length === 0) {
    return {
      ...unknown('connection', 'no kube-proxy process is visible from here'),
      next: 'run check on the node itself: as root, in the network and process namespace of kube-proxy (hostNetwork, hostPID)',
    };
  }
  for (const { pid, peers } of processes) {
    const others = peers.filter((peer) => !leadsToListener(peer, listeners));
    if (others.length > 0) {
      return problem(
        'connection',
        `kube-proxy (pid ${pid}) is connected to ${others.join(', ')}, past the wrapper`,
        `set server: ${serversOf(listeners)} in the kubeconfig of kube-proxy, and restart it`,
      );
    }
    if (peers.length === 0) {
      return problem(
        'connection',
        `kube-proxy (pid ${pid}) has no connection, neither to the wrapper nor elsewhere`,
        `see its log, and check that its kubeconfig has server: ${serversOf(listeners)}`,
      );
    }
  }
  const pids = processes.map(({ pid }) => pid).join(', ');
  const peers = processes.flatMap((each) => each.peers);
  const ports = [...new Set(peers.map((peer) => peer.slice(peer.lastIndexOf(':') + 1)))].sort();
  return ok(
    'connection',
    `kube-proxy (pid ${pids}) is connected to port ${ports.join(' and ')} of the wrapper only`,
  );
}
