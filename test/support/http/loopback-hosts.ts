import { networkInterfaces } from 'node:os';

/** Loopback addresses of this machine, including IPv6 if it has that. */
export function loopbackHosts(): string[] {
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const hasIpv6 = own.some(({ address }) => address === '::1');
  return ['127.0.0.1', '127.0.0.2', ...(hasIpv6 ? ['::1'] : [])];
}
