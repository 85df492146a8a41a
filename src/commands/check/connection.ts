import { readFile } from 'node:fs/promises';
import { loadAll } from 'js-yaml';
import { WrapperError } from '../../errors.ts';
import { findKubeProxies } from './sockets.ts';
import { fail, ok, skip, type Verdict } from './verdict.ts';

interface Kubeconfig {
  readonly 'current-context'?: string;
  readonly contexts?: readonly { readonly name: string; readonly context?: { cluster?: string } }[];
  readonly clusters?: readonly { readonly name: string; readonly cluster?: { server?: string } }[];
}

/** Whether the kubeconfig of kube-proxy names the wrapper as its server. */
export async function checkKubeconfig(file: string, listen: string): Promise<Verdict> {
  const server = await readServer(file);
  if (server !== undefined && sameAddress(server, listen)) {
    return ok('kubeconfig', `${file} names ${server}`);
  }
  return fail(
    'kubeconfig',
    `${file} names ${server ?? 'no server'}, but the wrapper listens at ${listen}`,
    `set server: ${listen} in it, and restart kube-proxy`,
  );
}

async function readServer(file: string): Promise<string | undefined> {
  try {
    const [config] = loadAll(await readFile(file, 'utf8')) as Kubeconfig[];
    const { contexts = [], clusters = [] } = config ?? {};
    const current = contexts.find(({ name }) => name === config?.['current-context']);
    const cluster = clusters.find(({ name }) => name === current?.context?.cluster) ?? clusters[0];
    return cluster?.cluster?.server;
  } catch (cause) {
    const { message } = WrapperError.from(cause, 'Credentials');
    throw new WrapperError('Credentials', `cannot read ${file}: ${message}`, { cause });
  }
}

/** Whether kube-proxy is connected to the wrapper, and to nothing else that could be an API server. */
export async function checkSockets(listen: string): Promise<Verdict> {
  const processes = await findKubeProxies();
  if (processes.length === 0) {
    return skip(
      'connection',
      'no kube-proxy process can be seen from here',
      'run check on the node itself: as root, in the network and process namespace of kube-proxy (hostNetwork, hostPID)',
    );
  }
  const port = new URL(listen).port;
  for (const { pid, peers } of processes) {
    const others = peers.filter((peer) => !sameAddress(`http://${peer}`, listen));
    if (others.length > 0) {
      return fail(
        'connection',
        `kube-proxy (pid ${pid}) is connected to ${others.join(', ')}, past the wrapper`,
        `set server: ${listen} in the kubeconfig of kube-proxy, and restart it`,
      );
    }
    if (peers.length === 0) {
      return fail(
        'connection',
        `kube-proxy (pid ${pid}) has no connection to the wrapper, nor any other`,
        `see its log; is server: ${listen} in its kubeconfig?`,
      );
    }
  }
  const pids = processes.map(({ pid }) => pid).join(', ');
  return ok(
    'connection',
    `kube-proxy (pid ${pids}) is connected to port ${port} of the wrapper alone`,
  );
}

function sameAddress(url: string, listen: string): boolean {
  const [a, b] = [new URL(url), new URL(listen)];
  const local = (name: string) => (name === 'localhost' ? '127.0.0.1' : name);
  const portOf = ({ port, protocol }: URL) => port || (protocol === 'https:' ? '443' : '80');
  return local(a.hostname) === local(b.hostname) && portOf(a) === portOf(b);
}
