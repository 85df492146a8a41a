import { lookup } from 'node:dns/promises';
import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Table } from '../../../admin/explain/table.ts';

/** A listener of the wrapper, as clients on this node reach it. */
export interface WrapperListener {
  /** Its URL in the log and the table. */
  readonly url: string;
  /** Its URL for a kubeconfig: with a loopback address instead of 0.0.0.0. */
  readonly server: string;
  readonly scheme: string;
  readonly port: string;
  /** The addresses of the listener. BlockList is used as a set of addresses. */
  readonly addresses: BlockList;
}

/** The listeners that a table names, plain http first. */
export function wrapperListeners({
  listen,
  https,
}: Pick<Table, 'listen' | 'https'>): WrapperListener[] {
  const urls = new Set([listen, ...(https === undefined ? [] : [https])]);
  return [...urls].map((text) => {
    const url = new URL(text);
    const addresses = addressesOf(hostOf(url));
    const server = text.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
    return { url: text, server, scheme: url.protocol, port: portOf(url), addresses };
  });
}

/** Valid values of `server` in a kubeconfig, as text. */
export function serversOf(listeners: readonly WrapperListener[]): string {
  return listeners.map(({ server }) => server).join(' or ');
}

/** Whether `ip:port` (IPv6 in brackets) is the address of one of the listeners. */
export function leadsToListener(peer: string, listeners: readonly WrapperListener[]): boolean {
  const url = new URL(`http://${peer}`);
  return listeners.some(
    (listener) => portOf(url) === listener.port && has(listener.addresses, hostOf(url)),
  );
}

/**
 * Whether the server of a kubeconfig is one of the listeners: scheme, port and address match. A host name is resolved.
 *
 * The server is parsed like clientcmd and rest.DefaultServerURL of client-go. Without a scheme it is plain http, even
 * with a certificate-authority: clientcmd uses that only if the server has the scheme https.
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
  // A name that cannot be resolved does not match.
  const found = await lookup(hostOf(url), { all: true }).catch(() => []);
  return found.some(({ address }) => likely.some(({ addresses }) => has(addresses, address)));
}

/** The addresses of a listener. 0.0.0.0 and :: stand for all addresses of this node, including 127.0.0.0/8. */
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

/** The host; an IPv6 address without its brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80');
}
