import type { Logger } from 'pino';
import type { ListenerLimits } from '../server/http/listener-limits.ts';
import type { ProxyState } from '../server/node-proxy.ts';
import type { ListenAddress } from '../util/address.ts';
import { type Admin, startAdminListener } from './admin-listener.ts';
import type { LogLosses } from './metrics/metric-readers.ts';
import { createAdminHandler } from './wrapper-routes.ts';

export type { Admin } from './admin-listener.ts';

/*
 * The admin room: what an operator can see of a running wrapper. It reads the ProxyState, and changes nothing,
 * with two exceptions: the first explanation opens the views of kube-proxy if no client has opened any, and /flush
 * writes the snapshots, which the next process requests.
 *   admin-listener.ts  the listener, and admin-handler.ts what it accepts
 *   wrapper-routes.ts  what answers each path in a wrapper, and relay-admin.ts in a relay
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
}

/** Starts the admin listener of a wrapper. Rejects if the address is in use. */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const { address, listenerLimits, proxy, logger, log } = options;
  const { listeners } = proxy;
  const onRequest = createAdminHandler(proxy, logger, log);
  return await startAdminListener({ address, listenerLimits, listeners, onRequest });
}
