import { WrapperError } from '../../errors.ts';
import { isLoopback } from '../../util/address.ts';

/**
 * Throws `InvalidSettings` if an API server is reached by plain http over the network. The tokens of callers of the
 * https listener would be sent to it in clear text.
 */
export function assertConfidential(servers: readonly URL[]): void {
  const exposed = servers.find(
    (server) => server.protocol === 'http:' && !isThisHost(server.hostname),
  );
  if (exposed === undefined) return;
  throw new WrapperError(
    'InvalidSettings',
    `https: the tokens of callers would be sent to ${exposed.origin} in clear text; ` +
      'use an https address of the API server in the kubeconfig, or remove the setting https',
  );
}

/** @param hostname of a URL, which has IPv6 addresses in brackets */
function isThisHost(hostname: string): boolean {
  return hostname === 'localhost' || isLoopback(hostname.replace(/^\[|\]$/g, ''));
}
