import type { ListenAddress } from '../proxy/http/http-listener.ts';
import type { ListenerLimits } from '../proxy/http/listener-limits.ts';
import type { HttpsListenerOptions, ListenersOptions } from '../proxy/server/listeners.ts';
import type { HttpsSettings } from './https-settings.ts';
import type { ListenerName } from './listen-fds.ts';
import type { Settings } from './settings.ts';

/** Options of the listeners. A listener in `fds` uses the socket that systemd has passed for it. */
export function listenersOptions(
  settings: Settings,
  fds: ReadonlyMap<ListenerName, number> = new Map(),
): Required<Pick<ListenersOptions, 'http' | 'https'>> & {
  readonly admin: ListenAddress;
  readonly listenerLimits: ListenerLimits;
} {
  const { listen, https, adminListen } = settings;
  const bind = (name: ListenerName, address: ListenAddress): ListenAddress => {
    const fd = fds.get(name);
    // Without a planned restart a second process is a mistake. It must not get a share of the connections.
    const reusePort = settings.handoverSeconds > 0;
    return fd === undefined ? { ...address, reusePort } : { ...address, fd };
  };
  return {
    http: listen && bind('listen', listen),
    https: https && httpsOptions(https, bind('https', https.listen)),
    admin: bind('adminListen', adminListen),
    listenerLimits: {
      maxConnections: settings.maxConnections,
      maxHeaderBytes: settings.maxHeaderBytes,
      headersTimeoutMs: settings.headersTimeoutSeconds * 1000,
      requestTimeoutMs: settings.requestTimeoutSeconds * 1000,
    },
  };
}

function httpsOptions(https: HttpsSettings, address: ListenAddress): HttpsListenerOptions {
  const { certFile, keyFile, clientCaFile } = https;
  const { allowedSeconds, deniedSeconds, maxCallers, maxReviews } = https;
  return {
    address,
    certFile,
    keyFile,
    ...(clientCaFile === undefined ? {} : { clientCaFile }),
    allowedMs: allowedSeconds * 1000,
    deniedMs: deniedSeconds * 1000,
    maxCallers,
    maxReviews,
    forwarding: {
      maxRequests: https.maxForwardedRequests,
      maxPerCaller: https.maxForwardedRequestsPerCaller,
    },
  };
}
