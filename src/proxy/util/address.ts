import { isIP } from 'node:net';

/** Where somebody listens. */
export interface Address {
  /** An IP address, IPv6 without brackets. */
  readonly host: string;
  /** 0: one that is free. */
  readonly port: number;
}

/** `<host>:<port>` as in URLs and settings, an IPv6 address in brackets. */
export function addressText({ host, port }: { host: string; port: number | string }): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** Whether a host, IPv6 without brackets, is an address of this machine alone. */
export function isLoopback(host: string): boolean {
  return (isIP(host) === 4 && host.startsWith('127.')) || host === '::1';
}
