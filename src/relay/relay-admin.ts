import { readUrl } from '../client/api/request-url.ts';
import { answerAndEnd } from '../server/http/http-errors.ts';
import { HttpListener } from '../server/http/http-listener.ts';
import { DEFAULT_LISTENER_LIMITS } from '../server/http/listener-limits.ts';
import type { ListenAddress } from '../util/address.ts';
import type { Relay } from './relay.ts';

const LIMITS = { ...DEFAULT_LISTENER_LIMITS, maxConnections: 32 };
const HEADERS = { 'content-type': 'text/plain; charset=utf-8' };

/** Starts the admin listener of a relay: /healthz and /readyz. */
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
      answerAndEnd(request, response, { code, headers: HEADERS, body: `${body}\n` });
    },
  });
  return { url: await listener.listen(), close: () => listener.close(0, () => {}) };
}

function answerOf(path: string, relay: Relay): [code: number, body: string] {
  if (path === '/healthz') return [200, 'ok'];
  if (path !== '/readyz') return [404, 'the paths are /healthz and /readyz'];
  const problem = relay.views.problem ?? relay.listeners.certificate?.problem(Date.now());
  return problem === undefined ? [200, 'ready'] : [503, problem];
}
