import type { KernelTable } from './kernel-table.ts';

/**
 * Parses the output of `ipvsadm -Ln`. A real server with weight 0 gets no new connections: kube-proxy only waits for
 * its old ones to end.
 */
export function parseIpvs(text: string): KernelTable {
  return parse(text, (address) => address);
}

/** Parses /proc/net/ip_vs, which has the same lines with hexadecimal addresses. */
export function parseProcIpvs(text: string): KernelTable {
  return parse(text, fromHex);
}

function parse(text: string, addressOf: (word: string) => string): KernelTable {
  const table = new Map<string, string[]>();
  let backends: string[] | undefined;
  for (const line of text.split('\n')) {
    const words = line.trim().split(/\s+/);
    const [first = '', second = ''] = words;
    if (['TCP', 'UDP', 'SCTP'].includes(first)) {
      backends = [];
      table.set(`${first} ${addressOf(second)}`, backends);
    } else if (first === '->' && /:[0-9A-Fa-f]+$/.test(second) && words[3] !== '0') {
      backends?.push(addressOf(second));
    }
  }
  for (const list of table.values()) list.sort();
  return table;
}

/** `0A60000A:0050`, or `[fd00:0000:…:0010]:0050`. */
function fromHex(word: string): string {
  const colon = word.lastIndexOf(':');
  const port = Number.parseInt(word.slice(colon + 1), 16);
  const address = word.slice(0, colon);
  if (address.startsWith('[')) return `[${shorten(address.slice(1, -1))}]:${port}`;
  const bytes = address.match(/../g) ?? [];
  return `${bytes.map((byte) => Number.parseInt(byte, 16)).join('.')}:${port}`;
}

/** The canonical form of an IPv6 address (RFC 5952), as in URLs. */
function shorten(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}
