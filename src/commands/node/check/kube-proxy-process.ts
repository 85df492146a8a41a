import { readdir, readFile, readlink } from 'node:fs/promises';

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
  const connections: Connection[] = [];
  for (const file of ['tcp', 'tcp6']) {
    const text = await readFile(`${folder}/net/${file}`, 'utf8').catch(() => '');
    connections.push(...parseTcp(text).filter(({ inode }) => inodes.has(inode)));
  }
  const listening = new Set(
    connections.filter(({ state }) => state === LISTEN).map(({ local }) => portOf(local)),
  );
  // Clients of its health and metrics ports are not its servers.
  const own = connections.filter(
    ({ state, local }) => state === ESTABLISHED && !listening.has(portOf(local)),
  );
  return [...new Set(own.map(({ remote }) => remote))].sort();
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

const ESTABLISHED = '01';
const LISTEN = '0A';

interface Connection {
  readonly local: string;
  readonly remote: string;
  readonly state: string;
  readonly inode: string;
}

/** Reads /proc/net/tcp or tcp6 (Linux Documentation/networking/proc_net_tcp.rst). */
export function parseTcp(text: string): Connection[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local, remote, state, , , , , , inode] = line.trim().split(/\s+/);
      if (local === undefined || remote === undefined || inode === undefined) return [];
      return [{ local: address(local), remote: address(remote), state: state ?? '', inode }];
    });
}

/** `0100007F:2878`: words of 4 bytes in the byte order of the machine; Node.js runs on little-endian ones. */
function address(text: string): string {
  const [hex = '', port = ''] = text.split(':');
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) =>
    (word.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16)).reverse(),
  );
  const number = Number.parseInt(port, 16);
  // Go opens IPv4 connections as IPv6 ones with a mapped address.
  const mapped =
    bytes.length === 16 && bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255;
  const v4 = bytes.length === 4 ? bytes : mapped ? bytes.slice(12) : undefined;
  if (v4 !== undefined) return `${v4.join('.')}:${number}`;
  const groups = Array.from({ length: 8 }, (_, index) =>
    (((bytes[2 * index] ?? 0) << 8) | (bytes[2 * index + 1] ?? 0)).toString(16),
  );
  return `${new URL(`http://[${groups.join(':')}]`).hostname}:${number}`;
}

function portOf(endpoint: string): string {
  return endpoint.slice(endpoint.lastIndexOf(':') + 1);
}
