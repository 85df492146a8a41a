import { pino } from 'pino';
import { type Admin, startAdmin } from '../../../src/admin/admin.ts';
import { DEFAULT_LISTENER_LIMITS } from '../../../src/server/http/listener-limits.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';

/** Starts the admin listener of a wrapper on a free port of loopback. It logs nothing. */
export function startTestAdmin(
  proxy: NodeProxy,
  listenerLimits = DEFAULT_LISTENER_LIMITS,
): Promise<Admin> {
  const logger = pino({ level: 'silent' });
  return startAdmin({ address: { host: '127.0.0.1', port: 0 }, listenerLimits, proxy, logger });
}
