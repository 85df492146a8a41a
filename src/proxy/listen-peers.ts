import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

/** State of a listening socket (include/net/tcp_states.h). */
const LISTENING = '0A';

/**
 * How many sockets of this network namespace listen at an address, all processes taken together; 0 where
 * there is no /proc/net/tcp. A socket on all addresses counts for each of them.
 */
export async function countListeners(address: {
  readonly host: string;
  readonly port: number;
}): Promise<number> {
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map(readTable));
  const wanted = hexAddress(address.host);
  return tables.flat().filter(({ host, port }) => {
    if (port !== address.port) return false;
    return host === wanted || /^0+$/.test(host) || /^0+$/.test(wanted);
  }).length;
}

async function readTable(path: string): Promise<Row[]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    // Not Linux, or no IPv6.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return rowsOf(text);
}

/** A socket that listens. */
export interface Row {
  readonly host: string;
  readonly port: number;
  /** Of a listening socket the receive queue is the number of connections (net/ipv4/tcp_ipv4.c). */
  readonly waiting: number;
}

/** The listening sockets in a table of the kernel, or in some lines of it. */
export function rowsOf(text: string): Row[] {
  return text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === LISTENING)
    .map(([, local = '', , , queues = '']) => {
      const [host = '', port = ''] = local.split(':');
      const [, waiting = ''] = queues.split(':');
      return { host, port: Number.parseInt(port, 16), waiting: Number.parseInt(waiting, 16) || 0 };
    });
}

/** An address as the kernel prints it: 32-bit words in the byte order of the machine, in hexadecimal. */
export function hexAddress(host: string): string {
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
  // URL writes it in its one short form, with no dotted part.
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
