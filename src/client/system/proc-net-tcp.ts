import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { type Address, shortForm } from '../../util/address.ts';

/** State of a listening socket (include/net/tcp_states.h). */
const LISTENING = '0A';
/** About 27 lines of the table. */
const READ_BYTES = 4096;
const ANY_HOSTS: readonly string[] = ['0.0.0.0', '::'];
const IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** A listening socket of any process in this network namespace. */
export interface ListeningSocket extends Address {
  /** Id of the user who owns the socket, in the user namespace of this process. */
  readonly user: number;
  readonly inode: string;
}

/** The sockets that listen at an address, or at all addresses; empty without /proc/net/tcp. */
export function listeningSockets({ host, port }: Address): ListeningSocket[] {
  const wanted = shortForm(host);
  return ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap(readTable)
    .filter((each) => each.port === port)
    .filter((each) => [each.host, ...ANY_HOSTS].includes(wanted) || ANY_HOSTS.includes(each.host));
}

/**
 * The {@link listeningSockets} that belong to a user; default: the user of this process. The kernel lets nobody
 * else share an address. Another user's socket for IPv6 alone can have the port, and seems to listen at all addresses.
 */
export function ownListeners(address: Address, userId = process.geteuid?.()): ListeningSocket[] {
  return listeningSockets(address).filter(({ user }) => user === userId);
}

/** Whether a process of this user listens at a port, whoever shares it. Throws if there is no such process. */
export function processListens(pid: number, port: number): boolean {
  const [host = ''] = ANY_HOSTS;
  const sockets = listeningSockets({ host, port }).map(({ inode }) => `socket:[${inode}]`);
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).some((fd) => sockets.includes(readLink(`${folder}/${fd}`)));
}

/** Empty if the file has been closed since its folder was read. */
function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/**
 * The listening sockets in a table of the kernel; none without that table. The kernel lists them first, and it creates
 * lines only when they are read (seq_file). So the other sockets, perhaps 100,000, cost nothing.
 */
function readTable(path: string): ListeningSocket[] {
  const fd = openIfExists(path);
  if (fd === undefined) return [];
  try {
    const found: ListeningSocket[] = [];
    const buffer = Buffer.alloc(READ_BYTES);
    let text = '';
    for (;;) {
      const bytes = readSync(fd, buffer);
      text += buffer.toString('latin1', 0, bytes);
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const socket = parseSocket(line);
        if (socket?.state === LISTENING) {
          found.push({ ...socket.local, user: socket.user, inode: socket.inode });
        } else if (!line.includes('local_address')) return found;
      }
      if (bytes === 0) return found;
    }
  } finally {
    closeSync(fd);
  }
}

/** Undefined if the system is not Linux or has no IPv6. */
function openIfExists(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A TCP socket of this network namespace. */
interface TcpSocket {
  readonly local: Address;
  /** In hexadecimal, such as {@link LISTENING}. */
  readonly state: string;
  /** See {@link ListeningSocket}. */
  readonly user: number;
  readonly inode: string;
}

/**
 * Parses a line of /proc/net/tcp or tcp6 (Linux Documentation/networking/proc_net_tcp.rst). Undefined if it is not
 * about a socket.
 */
export function parseSocket(line: string): TcpSocket | undefined {
  const [, local = '', , state = '', , , , user, , inode = ''] = line.trim().split(/\s+/);
  if (!/^[0-9A-F]+:/.test(local)) return undefined;
  return { local: parseHexAddress(local), state, user: Number(user), inode };
}

function parseHexAddress(text: string): Address {
  const [host = '', port = ''] = text.split(':');
  return { host: parseHost(host), port: Number.parseInt(port, 16) };
}

/** How an IPv4 address begins that a socket for both families uses. */
const MAPPED = '00000000000000000000ffff';

/** Parses an address in the kernel's format: 32-bit words in the machine's byte order, in hexadecimal. */
function parseHost(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  if (IS_LITTLE_ENDIAN) bytes.swap32();
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.toString('hex', 0, 12) === MAPPED) return bytes.subarray(12).join('.');
  const groups = [0, 2, 4, 6, 8, 10, 12, 14].map((at) => bytes.readUInt16BE(at).toString(16));
  return shortForm(groups.join(':'));
}
