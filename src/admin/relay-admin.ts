import type { Relay } from '../relay/relay.ts';
import { relayProblem } from '../relay/relay-reading.ts';
import { DEFAULT_LISTENER_LIMITS } from '../server/http/listener-limits.ts';
import { printLine } from '../text/untrusted-text.ts';
import type { ListenAddress } from '../util/address.ts';
import { createHandler } from './admin-handler.ts';
import { type Admin, startAdminListener } from './admin-listener.ts';
import type { Answer, Route } from './answer.ts';
import type { LogLosses } from './metrics/metric-readers.ts';
import { createRelayMetrics } from './metrics/relay-metrics.ts';
import { metricsRoute } from './metrics-route.ts';

const LIMITS = { ...DEFAULT_LISTENER_LIMITS, maxConnections: 32 };
const PATHS = '/healthz, /readyz and /metrics';

/** Starts the admin listener of a relay. Rejects if the address is in use. */
export async function startRelayAdmin(
  address: ListenAddress,
  relay: Relay,
  log?: LogLosses,
): Promise<Admin> {
  const { listeners } = relay;
  const routes = new Map<string, Route>([
    ['/healthz', () => ({ body: 'ok\n' })],
    ['/readyz', () => readinessOf(relay)],
    ['/metrics', metricsRoute(createRelayMetrics(relay, log))],
  ]);
  const onRequest = createHandler({ routes, paths: PATHS }, listeners.refusals);
  return await startAdminListener({ address, listenerLimits: LIMITS, listeners, onRequest });
}

function readinessOf(relay: Relay): Answer {
  const problem = relayProblem(relay);
  return problem === undefined ? { body: 'ready\n' } : { code: 503, body: printLine(problem) };
}
