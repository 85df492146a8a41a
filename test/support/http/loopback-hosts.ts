import { networkInterfaces } from 'node:os';

/** Addresses of this machine that only it reaches: of IPv6 only where it has any. */
export function loopbackHosts(): string[] {
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const hasIpv6 = own.some(({ address }) => address === '::1');
  return ['127.0.0.1', '127.0.0.2', ...(hasIpv6 ? ['::1'] : [])];
}
