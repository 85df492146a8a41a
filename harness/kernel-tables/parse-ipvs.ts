import type { KernelTable } from './kernel-table.ts';

/**
 * Parses /proc/net/ip_vs, whose addresses are hexadecimal. A real server with weight 0 gets no new connections:
 * kube-proxy only waits for its old ones to end.
 */
export function parseIpvs(text: string): KernelTable {
  const table = new Map<string, string[]>();
  let backends: string[] | undefined;
  for (const line of text.split('\n')) {
    const words = line.trim().split(/\s+/);
    const [first = '', second = ''] = words;
    if (['TCP', 'UDP', 'SCTP'].includes(first)) {
      backends = [];
      table.set(`${first} ${addressOf(second)}`, backends);
    } else if (first === '->' && /:[0-9A-F]+$/.test(second) && words[3] !== '0') {
      backends?.push(addressOf(second));
    }
  }
  for (const list of table.values()) list.sort();
  return table;
}

/** `0A60000A:0050`, or `[fd00:0000:…:0010]:0050`. */
function addressOf(word: string): string {
  const colon = word.lastIndexOf(':');
  const port = Number.parseInt(word.slice(colon + 1), 16);
  const address = word.slice(0, colon);
  // The canonical form of an IPv6 address (RFC 5952), as in URLs.
  if (address.startsWith('[')) return `${new URL(`http://${address}`).hostname}:${port}`;
  return `${Buffer.from(address, 'hex').join('.')}:${port}`;
}
