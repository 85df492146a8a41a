import type { IncomingMessage, ServerResponse } from 'node:http';
import { readUrl } from '../client/api/request-url.ts';
import { HttpListener } from '../server/http/http-listener.ts';
import type { ListenerLimits } from '../server/http/listener-limits.ts';
import type { Listeners } from '../server/serving/listeners.ts';
import type { ListenAddress } from '../util/address.ts';
import { ADMIN_LISTENER, PROBES } from './admin-handler.ts';

export interface AdminListenerOptions {
  readonly address: ListenAddress;
  readonly listenerLimits: ListenerLimits;
  /** Log and count what is requested and refused. */
  readonly listeners: Pick<Listeners, 'refusals' | 'requests'>;
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
}

/** The running admin listener. */
export interface Admin {
  readonly url: string;
  close(): Promise<void>;
}

/** Active requests that only probes may use. Slow pages and scrapers must not make the process look dead. */
const RESERVED_FOR_PROBES = 8;
/** Active requests of other kinds: pages, scrapers, explanations. Probes have to wait while one is handled. */
const MAX_OTHERS = 16;
/** Time for the headers, and for a request, to arrive. kubelet gives up a probe after a second, and sends no body. */
const REQUEST_MS = 2_000;
/** kubelet opens a connection for each probe. Scrapers come less often than this, and connect again. */
const ADMIN_IDLE_MS = 5_000;
/** Time for a client to read the end of a response. */
const ADMIN_WRITE_TIMEOUT_MS = 10_000;
/**
 * Connections that wait to be accepted, one in each turn of the event loop. A probe waits for all before it. Clients
 * that do not wait for an answer fill a queue of any length.
 */
const PROBE_BACKLOG = 256;

/** Starts an admin listener. Rejects if the address is in use. */
export async function startAdminListener(options: AdminListenerOptions): Promise<Admin> {
  const { address, listeners, listenerLimits, onRequest } = options;
  const { refusals, requests } = listeners;
  const { maxConnections } = listenerLimits;
  const forOthers = maxConnections - Math.min(RESERVED_FOR_PROBES, Math.floor(maxConnections / 2));
  const listener = new HttpListener({
    address,
    refusals,
    requests,
    name: ADMIN_LISTENER,
    listenerLimits: {
      ...listenerLimits,
      headersTimeoutMs: Math.min(listenerLimits.headersTimeoutMs, REQUEST_MS),
      requestTimeoutMs: Math.min(listenerLimits.requestTimeoutMs, REQUEST_MS),
    },
    kindOf: (request) => (PROBES.includes(readUrl(request).path) ? 'probe' : 'other'),
    maxOfKind: { other: Math.min(MAX_OTHERS, forOthers) },
    keepAliveMs: ADMIN_IDLE_MS,
    writeTimeoutMs: ADMIN_WRITE_TIMEOUT_MS,
    backlog: PROBE_BACKLOG,
    onRequest,
  });
  return {
    url: await listener.listen(),
    close: () => listener.close(0, () => {}),
  };
}
