import { lookup } from 'node:dns/promises';
import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Table } from '../../admin/explain/table.ts';

/** A door of the wrapper, as clients on this node find it. */
export interface WrapperListener {
  /** Where it listens. */
  readonly url: string;
  /** The same as a kubeconfig can name it: nobody connects to 0.0.0.0. */
  readonly server: string;
  readonly scheme: string;
  readonly port: string;
  /** Addresses at which it is reached; a set, despite the name of its class. */
  readonly addresses: BlockList;
}

/** The doors that a table tells, plain http first. */
export function wrapperListeners({
  listen,
  https,
}: Pick<Table, 'listen' | 'https'>): WrapperListener[] {
  const urls = new Set([listen, ...(https === undefined ? [] : [https])]);
  return [...urls].map((text) => {
    const url = new URL(text);
    const addresses = addressesOf(bare(url));
    const server = text.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
    return { url: text, server, scheme: url.protocol, port: portOf(url), addresses };
  });
}

/** What a kubeconfig should name as its server. */
export function serversOf(listeners: readonly WrapperListener[]): string {
  return listeners.map(({ server }) => server).join(' or ');
}

/** Whether a connection to `ip:port` (IPv6 in brackets) ends at one of the doors. */
export function leadsToListener(peer: string, listeners: readonly WrapperListener[]): boolean {
  const url = new URL(`http://${peer}`);
  return listeners.some(
    (listener) => portOf(url) === listener.port && has(listener.addresses, bare(url)),
  );
}

/**
 * Whether the server of a kubeconfig is one of the doors: scheme, port and address. A name is looked up.
 *
 * It is read as clientcmd and rest.DefaultServerURL of client-go read it. Without a scheme it is plain http, even
 * beside a certificate-authority: clientcmd takes that up only for a server that is https without it.
 */
export async function namesListener(
  server: string,
  listeners: readonly WrapperListener[],
): Promise<boolean> {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(server) ? server : `http://${server}`);
  if (url === null) return false;
  const likely = listeners.filter(
    ({ scheme, port }) => scheme === url.protocol && port === portOf(url),
  );
  if (likely.length === 0) return false;
  // A name that cannot be resolved leads nowhere.
  const found = await lookup(bare(url), { all: true }).catch(() => []);
  return found.some(({ address }) => likely.some(({ addresses }) => has(addresses, address)));
}

/** Of a door on all addresses those of this node, of which IPv4 includes all of 127.0.0.0/8. */
function addressesOf(host: string): BlockList {
  const addresses = new BlockList();
  addresses.addAddress(host, familyOf(host));
  if (host !== '0.0.0.0' && host !== '::') return addresses;
  addresses.addSubnet('127.0.0.0', 8);
  for (const each of Object.values(networkInterfaces()).flat()) {
    if (each === undefined || (host === '0.0.0.0' && each.family === 'IPv6')) continue;
    addresses.addAddress(each.address, familyOf(each.address));
  }
  return addresses;
}

function has(addresses: BlockList, address: string): boolean {
  return addresses.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

/** The host, an IPv6 address without its brackets. */
function bare({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80');
}
