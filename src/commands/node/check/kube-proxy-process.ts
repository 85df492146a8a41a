import { readdir, readFile, readlink } from 'node:fs/promises';
import { LISTENING, parseSocket, type TcpSocket } from '../../../proxy/util/proc-net-tcp.ts';
import { addressText } from '../../../util/address.ts';

/** State of an open connection (include/net/tcp_states.h). */
const ESTABLISHED = '01';

/** A process that looks like a kube-proxy. */
export interface KubeProxyProcess {
  readonly pid: number;
  /** `ip:port` of the remote end of each connection that it has opened. */
  readonly peers: readonly string[];
}

/**
 * Finds kube-proxy processes in this network namespace and their connections, using only /proc. Processes without
 * read permission are not found.
 */
export async function findKubeProxies(proc = '/proc'): Promise<KubeProxyProcess[]> {
  const here = await readlink(`${proc}/self/ns/net`).catch(() => undefined);
  const found: KubeProxyProcess[] = [];
  for (const entry of await readdir(proc)) {
    if (!/^[0-9]+$/.test(entry)) continue;
    const folder = `${proc}/${entry}`;
    try {
      if (!(await isKubeProxy(folder))) continue;
      if ((await readlink(`${folder}/ns/net`)) !== here) continue;
      found.push({ pid: Number(entry), peers: await peersOf(folder) });
    } catch {
      // The process has ended meanwhile, or this user has no permission to read it.
    }
  }
  return found;
}

async function isKubeProxy(folder: string): Promise<boolean> {
  const [command = ''] = (await readFile(`${folder}/cmdline`, 'utf8')).split('\0', 1);
  const name = command.slice(command.lastIndexOf('/') + 1);
  return name.startsWith('kube-proxy') && !name.startsWith('kube-proxy-wrapper');
}

async function peersOf(folder: string): Promise<string[]> {
  const inodes = await socketInodes(folder);
  const sockets: TcpSocket[] = [];
  for (const file of ['tcp', 'tcp6']) {
    const text = await readFile(`${folder}/net/${file}`, 'utf8').catch(() => '');
    const all = text.split('\n').flatMap((line) => parseSocket(line) ?? []);
    sockets.push(...all.filter(({ inode }) => inodes.has(inode)));
  }
  const listening = sockets.filter(({ state }) => state === LISTENING);
  const served = new Set(listening.map(({ local }) => local.port));
  // Clients of its health and metrics ports are not its servers.
  const own = sockets.filter(
    ({ state, local }) => state === ESTABLISHED && !served.has(local.port),
  );
  return [...new Set(own.map(({ remote }) => addressText(remote)))].sort();
}

async function socketInodes(folder: string): Promise<Set<string>> {
  const inodes = new Set<string>();
  for (const fd of await readdir(`${folder}/fd`)) {
    const target = await readlink(`${folder}/fd/${fd}`).catch(() => '');
    const inode = /^socket:\[([0-9]+)\]$/.exec(target)?.[1];
    if (inode !== undefined) inodes.add(inode);
  }
  return inodes;
}
