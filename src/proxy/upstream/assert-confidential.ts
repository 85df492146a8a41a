import { WrapperError } from '../../errors.ts';
import { isLoopback } from '../util/address.ts';

/**
 * Throws `InvalidSettings` when an API server is reached by plain http over the network: to it goes what
 * callers of the https door prove their identity with, for all on the way to read.
 */
export function assertConfidential(servers: readonly URL[]): void {
  const exposed = servers.find((each) => each.protocol === 'http:' && !isHere(each.hostname));
  if (exposed === undefined) return;
  throw new WrapperError(
    'InvalidSettings',
    `https: its callers' tokens would be sent to ${exposed.origin} in clear text; ` +
      'name an API server by https in the kubeconfig, or leave out https',
  );
}

/** A host of a URL, which has IPv6 addresses in brackets. */
function isHere(hostname: string): boolean {
  return hostname === 'localhost' || isLoopback(hostname.replace(/^\[|\]$/g, ''));
}
