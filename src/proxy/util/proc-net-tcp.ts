import { closeSync, openSync, readSync } from 'node:fs';
import { isIP } from 'node:net';

/** State of a listening socket (include/net/tcp_states.h). */
const LISTENING = '0A';
/** About 27 lines of the table. */
const READ_BYTES = 4096;

/**
 * How many sockets of this network namespace listen at an address, of all processes; 0 without /proc/net/tcp. A socket
 * on all addresses counts for each of them.
 */
export function countListeners(address: { readonly host: string; readonly port: number }): number {
  return [...listeners(address)].length;
}

/** The ids of the users whose sockets listen at an address; empty without /proc/net/tcp. */
export function listenerUsers(address: {
  readonly host: string;
  readonly port: number;
}): ReadonlySet<number> {
  return new Set(Array.from(listeners(address), ({ user }) => user));
}

/** The sockets that listen at an address. */
export function* listeners(address: {
  readonly host: string;
  readonly port: number;
}): Generator<Row> {
  const wanted = hexAddress(address.host);
  for (const path of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const row of listeningRows(path)) {
      if (row.port !== address.port) continue;
      if (row.host === wanted || /^0+$/.test(row.host) || /^0+$/.test(wanted)) yield row;
    }
  }
}

/** A listening socket. */
interface Row {
  readonly host: string;
  readonly port: number;
  /** Id of the user who owns the socket, in the user namespace of this process. */
  readonly user: number;
  readonly inode: string;
}

/**
 * The listening sockets in a table of the kernel; none without that table. The kernel lists them first, and it creates
 * lines only when they are read (seq_file). So the other sockets, perhaps 100,000, cost nothing.
 */
function* listeningRows(path: string): Generator<Row, void, undefined> {
  const fd = open(path);
  if (fd === undefined) return;
  try {
    const buffer = Buffer.alloc(READ_BYTES);
    let text = '';
    for (let isHeader = true; ; isHeader = false) {
      let end = text.indexOf('\n');
      while (end === -1) {
        const bytes = readSync(fd, buffer);
        if (bytes === 0) return;
        text += buffer.toString('latin1', 0, bytes);
        end = text.indexOf('\n');
      }
      const row = rowOf(text.slice(0, end));
      text = text.slice(end + 1);
      if (row !== undefined) yield row;
      else if (!isHeader) return;
    }
  } finally {
    closeSync(fd);
  }
}

/** Undefined if the system is not Linux or has no IPv6. */
function open(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Undefined if a line is not a listening socket. */
function rowOf(line: string): Row | undefined {
  const [, local = '', , state, , , , user, , inode = ''] = line.trim().split(/\s+/);
  if (state !== LISTENING) return undefined;
  const [host = '', port = ''] = local.split(':');
  return { host, port: Number.parseInt(port, 16), user: Number(user), inode };
}

/** An address in the kernel's format: 32-bit words in the machine's byte order, in hexadecimal. */
function hexAddress(host: string): string {
  const bytes = isIP(host) === 4 ? host.split('.').map(Number) : ipv6Bytes(host);
  const words: string[] = [];
  for (let index = 0; index < bytes.length; index += 4) {
    const word = bytes.slice(index, index + 4);
    if (littleEndian()) word.reverse();
    words.push(word.map((byte) => byte.toString(16).padStart(2, '0')).join(''));
  }
  return words.join('').toUpperCase();
}

function ipv6Bytes(host: string): number[] {
  // URL returns the one short form without a dotted part.
  const short = new URL(`http://[${host}]`).hostname.slice(1, -1);
  const [head = '', tail] = short.split('::');
  const groups = (text: string | undefined) => (text ? text.split(':') : []);
  const last = groups(tail);
  const first = groups(head);
  const zeros = new Array<string>(8 - first.length - last.length).fill('0');
  return [...first, ...zeros, ...last].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

function littleEndian(): boolean {
  return new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
}
