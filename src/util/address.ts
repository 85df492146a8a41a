import { isIP } from 'node:net';

/** Address of a listening socket. */
export interface Address {
  /** An IP address, IPv6 without brackets. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/** Where to listen. */
export interface ListenAddress extends Address {
  /** Whether other processes of this user may listen at the same address (SO_REUSEPORT); default: false. */
  readonly reusePort?: boolean;
}

/** `<host>:<port>` as in URLs and settings, an IPv6 address in brackets. */
export function addressText({ host, port }: { host: string; port: number | string }): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** Whether a host is a loopback address. @param host IPv6 without brackets */
export function isLoopback(host: string): boolean {
  return (isIP(host) === 4 && host.startsWith('127.')) || host === '::1';
}

/** The one short form of an IPv6 address without a dotted part, which URL returns; any other text is unchanged. */
export function shortForm(host: string): string {
  return isIP(host) === 6 ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host;
}
