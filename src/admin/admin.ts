import type { Logger } from 'pino';
import { readUrl } from '../client/api/request-url.ts';
import { HttpListener } from '../server/http/http-listener.ts';
import type { ListenerLimits } from '../server/http/listener-limits.ts';
import type { ProxyState } from '../server/node-proxy.ts';
import type { ListenAddress } from '../util/address.ts';
import { ADMIN_LISTENER, createAdminHandler, PROBES } from './admin-handler.ts';
import type { LogLosses } from './metrics/metric-readers.ts';

/*
 * The admin room: what an operator can see of a running wrapper. It reads the ProxyState, and changes nothing,
 * with two exceptions: the first explanation opens the views of kube-proxy if no client has opened any, and /flush
 * writes the snapshots, which the next process requests.
 *   admin-handler.ts   what answers each path of the admin listener
 *   explain-routes.ts  what answers the paths of the rooms explain and status, with their limits; answer.ts: what is
 *                      sent
 *   explain/           /explain, /diff, /decisions, /summary
 *   status/            /status
 *   page/              the page, and /node
 *   metrics/           /metrics
 */

export interface AdminOptions {
  readonly address: ListenAddress;
  readonly listenerLimits: ListenerLimits;
  readonly proxy: ProxyState;
  readonly logger: Logger;
  /** Destination of the logger. Default: one that loses no line. */
  readonly log?: LogLosses;
  /** Aborts when the process is told to stop. Default: it never is. */
  readonly stop?: AbortSignal;
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
 * Connections that wait to be accepted, one in each turn of the event loop. A probe waits for those before it, and
 * clients that do not wait for an answer can fill a queue of any length.
 */
const PROBE_BACKLOG = 256;

/** Starts the admin listener. Rejects if the address is in use. */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const { proxy, logger, log, stop, listenerLimits } = options;
  const { refusals, requests } = proxy.listeners;
  const { maxConnections } = listenerLimits;
  const forOthers = maxConnections - Math.min(RESERVED_FOR_PROBES, Math.floor(maxConnections / 2));
  const listener = new HttpListener({
    address: options.address,
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
    onRequest: createAdminHandler(proxy, logger, log, stop),
  });
  return {
    url: await listener.listen(),
    close: () => listener.close(0, () => {}),
  };
}
