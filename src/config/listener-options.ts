import { DEFAULT_LISTENER_LIMITS, type ListenerLimits } from '../server/http/listener-limits.ts';
import type { HttpsListenerOptions, ListenersOptions } from '../server/serving/listeners.ts';
import type { ListenAddress } from '../util/address.ts';
import type { HttpsSettings } from './https-settings.ts';
import type { Settings } from './settings.ts';

/**
 * What is remembered of access reviews. A right that is taken away counts for half a minute more; a new one takes 5 s
 * to count. Clients of one node are a few components, so 256 callers are far more than any node has. 16 reviews at a
 * time leave the API server free when many invalid tokens, or many queries of one user, arrive.
 */
const ACCESS_REVIEWS = {
  allowedMs: 30_000,
  deniedMs: 5_000,
  maxCallers: 256,
  maxReviews: 16,
} as const;

/** Options of the listeners. */
export function listenersOptions(settings: Settings): Pick<ListenersOptions, 'http' | 'https'> & {
  readonly admin: ListenAddress;
  readonly listenerLimits: ListenerLimits;
} {
  const { listen, https, adminListen } = settings;
  // Without a planned restart a second process is a mistake. It must not get a share of the connections.
  const reusePort = settings.handoverSeconds > 0;
  return {
    http: listen && { ...listen, reusePort },
    https: https && httpsOptions(https, { ...https.listen, reusePort }),
    admin: { ...adminListen, reusePort },
    listenerLimits: { ...DEFAULT_LISTENER_LIMITS, maxConnections: settings.maxConnections },
  };
}

function httpsOptions(https: HttpsSettings, address: ListenAddress): HttpsListenerOptions {
  const { certFile, keyFile } = https;
  return {
    address,
    certFile,
    keyFile,
    ...ACCESS_REVIEWS,
  };
}
