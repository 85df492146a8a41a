import { readUrl } from '../proxy/api/request-url.ts';
import { refuseRequest } from '../proxy/http/http-errors.ts';
import { HttpListener } from '../proxy/http/http-listener.ts';
import { DEFAULT_LISTENER_LIMITS } from '../proxy/http/listener-limits.ts';
import type { ListenAddress } from '../util/address.ts';
import type { Relay } from './relay.ts';

const LIMITS = { ...DEFAULT_LISTENER_LIMITS, maxConnections: 32, requestTimeoutMs: 2_000 };
const HEADERS = { 'content-type': 'text/plain; charset=utf-8' };

/** Starts the admin listener of a relay: /healthz, /readyz and /metrics. */
export async function startRelayAdmin(address: ListenAddress, relay: Relay) {
  const { refusals, requests } = relay.listeners;
  const listener = new HttpListener({
    name: 'adminListen',
    address,
    listenerLimits: LIMITS,
    refusals,
    requests,
    onRequest: (request, response) => {
      const [code, body] = answerOf(readUrl(request).path, relay);
      refuseRequest(request, response, { code, headers: HEADERS, body: `${body}\n` });
    },
  });
  return { url: await listener.listen(), close: () => listener.close(0, () => {}) };
}

function answerOf(path: string, relay: Relay): [code: number, body: string] {
  if (path === '/healthz') return [200, 'ok'];
  if (path === '/metrics') return [200, metricsOf(relay)];
  if (path !== '/readyz') return [404, 'the paths are /healthz, /readyz and /metrics'];
  const problem = relay.views.problem ?? relay.listeners.certificate?.problem(Date.now());
  return problem === undefined ? [200, 'ready'] : [503, problem];
}

function metricsOf({ views, listeners }: Relay): string {
  const { open, lost } = views.counts;
  const gauges: readonly [name: string, help: string, value: number][] = [
    ['relay_views', 'Open views: queries that are watched at the API server.', open],
    ['relay_lost_views', 'Views that are not served because the API server is lost.', lost],
    ['relay_client_watches', 'Open watches of clients.', listeners.watches],
  ];
  const lines = gauges.flatMap(([name, help, value]) => [
    `# HELP kube_proxy_wrapper_${name} ${help}`,
    `# TYPE kube_proxy_wrapper_${name} gauge`,
    `kube_proxy_wrapper_${name} ${value}`,
  ]);
  return lines.join('\n');
}
