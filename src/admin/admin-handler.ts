import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { WrapperError } from '../errors.ts';
import { serializeQueries } from '../proxy/api/query-json.ts';
import { readUrl } from '../proxy/api/request-url.ts';
import { statusOf } from '../proxy/api/status.ts';
import { hasBody, refuseRequest } from '../proxy/http/http-errors.ts';
import { reasonOf } from '../proxy/http/refusal-log.ts';
import { assertLocalRequest } from '../proxy/http/request-checks.ts';
import type { ProxyState } from '../proxy/node-proxy.ts';
import { escapeJson, printLine } from '../untrusted-text.ts';
import { EXPLANATIONS, ExplainRoutes } from './explain-routes.ts';
import { healthOf } from './health/causes.ts';
import type { DataAge } from './health/data-age.ts';
import { versionInfo } from './health/version-info.ts';
import type { LogLosses } from './metrics/metric-readers.ts';
import { createMetrics } from './metrics/metrics.ts';
import { metricsText } from './metrics/metrics-text.ts';
import { nodeDetails } from './page/node-details.ts';
import { pageAnswers } from './page/page-server.ts';
import { KernelRules } from './status/kernel-rules.ts';

/** Answers the requests of the admin listener, without the listener itself. */
export interface AdminHandler {
  handle(request: IncomingMessage, response: ServerResponse): void;
}

/** Name of the setting with the address, for log lines and metrics. */
export const ADMIN_LISTENER = 'adminListen';
/** Paths with which kubelet checks whether this process is alive and ready. */
export const PROBES: readonly string[] = ['/healthz', '/readyz'];

const TEXT_HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'x-content-type-options': 'nosniff',
} as const;

/** Creates the handler for one node. */
export function createAdminHandler(
  proxy: ProxyState,
  logger: Logger,
  log?: LogLosses,
): AdminHandler {
  const answers = answersOf(proxy, logger, log);
  const { refusals } = proxy.listeners;
  return {
    handle(request, response) {
      const about = { listener: ADMIN_LISTENER, verb: request.method, resource: request.url };
      const path = pathOf(request);
      const methods = path === '/flush' ? ['POST'] : ['GET', 'HEAD'];
      const answer = answers.get(path);
      try {
        assertAccepted(request, answer !== undefined, methods);
      } catch (error) {
        const { code: reason, message } = WrapperError.from(error, 'Forbidden');
        refusals.record({ ...about, reason, message });
        const headers: OutgoingHttpHeaders = { ...TEXT_HEADERS };
        if (reason === 'MethodNotAllowed') headers.allow = methods.join(', ');
        const { code } = statusOf(error);
        return refuseRequest(request, response, { code, headers, body: printLine(message) });
      }
      const answerUnlessGone = async (): Promise<void> => {
        if (!PROBES.includes(path)) await endNoticed();
        if (!response.destroyed) await answer?.(response, request);
      };
      answerUnlessGone().catch((error: unknown) => {
        const why = { reason: reasonOf(error), message: 'an error of the wrapper itself' };
        refusals.record({ ...about, ...why, err: error, level: 'error' });
        response.destroy();
      });
    },
  };
}

/**
 * Resolves when Node has noticed the end of a connection that the client closed right after its request. Such
 * connections can fill the accept queue, and probes wait for them: none may cause work.
 *
 * Turn 1 of the event loop is the rest of the one that has read the request. Turn 2 reads the end of the connection,
 * and ends it too. Turn 3 finds the response destroyed.
 */
async function endNoticed(): Promise<void> {
  for (let turn = 1; turn <= 3; turn++) await nextTurn();
}

/** The path of a request; of an explanation, the first part. */
function pathOf(request: IncomingMessage): string {
  const { path } = readUrl(request);
  const first = path.split('/', 2).join('/');
  return EXPLANATIONS.includes(first) ? first : path;
}

/** Throws why a request is refused. */
function assertAccepted(
  request: IncomingMessage,
  isKnown: boolean,
  methods: readonly string[],
): void {
  // A web page in a browser on this node could have sent the request.
  assertLocalRequest(request);
  if (!isKnown) throw new WrapperError('NotFound', `unknown path; the paths are ${PATHS}`);
  if (!methods.includes(request.method ?? '')) {
    throw new WrapperError('MethodNotAllowed', `the method must be ${methods.join(' or ')}`);
  }
  // Nothing would read the body, so its bytes could be parsed as the next request.
  if (hasBody(request)) {
    throw new WrapperError('BadRequest', 'a request to this port must not have a body');
  }
}

const PATHS =
  '/, /node, /explain, /decisions, /diff, /summary, /status, /views, /flush, /version, /healthz, /readyz and /metrics';

type Route = (response: ServerResponse, request: IncomingMessage) => Promise<void>;

function answersOf(
  proxy: ProxyState,
  logger: Logger,
  log: LogLosses | undefined,
): ReadonlyMap<string, Route> {
  const rules = new KernelRules(proxy);
  const registry = createMetrics(proxy, log, rules);
  const metrics = metricsText(registry);
  const explain = new ExplainRoutes(proxy, rules);
  const answerExplain: Route = (response, request) => explain.answer(request, response);
  return new Map<string, Route>([
    ...EXPLANATIONS.map((path) => [path, answerExplain] as const),
    ...pageAnswers(logger),
    ['/healthz', async (response) => sendText(response, 200, 'ok\n')],
    ['/readyz', async (response) => sendReadiness(response, proxy, rules)],
    [
      '/metrics',
      async (response) => {
        await rules.look();
        sendText(response, 200, await metrics.get(), registry.contentType);
      },
    ],
    ['/version', async (response) => sendJson(response, JSON.stringify(versionInfo(proxy)))],
    [
      '/node',
      async (response) => sendJson(response, escapeJson(JSON.stringify(nodeDetails(proxy)))),
    ],
    ['/views', async (response) => sendViews(response, proxy)],
    ['/flush', (response) => flush(response, proxy)],
  ]);
}

/**
 * Sends the queries of the complete views. The next process opens these views before it listens. It would wait
 * forever for a view that never becomes complete.
 */
function sendViews(response: ServerResponse, { views }: ProxyState): void {
  const complete = views.sources.filter(({ view }) => view.started);
  const queries = complete.map(({ query }) => query);
  sendJson(response, serializeQueries(queries));
}

/**
 * Writes the snapshots that are not on disk. The next process requests it before it reads them. The write bound stays:
 * later writes wait for longer.
 */
async function flush(response: ServerResponse, { snapshots }: ProxyState): Promise<void> {
  await snapshots?.flush();
  sendText(response, 200, 'ok\n');
}

/**
 * One line for each check, `[-]` for a failed one, like /readyz?verbose of kube-apiserver, and `[!]` for one that passes
 * although something is wrong. Then the causes of failed checks, the version and the age of the data.
 */
function sendReadiness(response: ServerResponse, proxy: ProxyState, rules: KernelRules): void {
  const { checks, data, causes } = healthOf(proxy);
  const lines = [...checks, ...rules.checks()].map(({ name, problem, degraded, remark }) => {
    if (problem !== undefined) return `[-]${name} failed: ${problem}`;
    if (degraded !== undefined) return `[!]${name} degraded: ${degraded}`;
    return remark === undefined ? `[+]${name} ok` : `[+]${name} ok, ${remark}`;
  });
  for (const { text, checks: count } of causes) {
    lines.push(`cause: ${text}${count > 1 ? ` (${count} checks)` : ''}`);
  }
  lines.push(...aboutLines(proxy, data));
  const failed = causes.length > 0;
  lines.push(failed ? 'readyz check failed' : 'readyz check passed');
  sendText(response, failed ? 503 : 200, lines.map(printLine).join(''));
}

function aboutLines(proxy: ProxyState, { state, ageSeconds, missing, warning }: DataAge): string[] {
  const age = missing ? 'none yet' : `${ageSeconds} s old`;
  const { version, nodeVersion } = versionInfo(proxy);
  return [`version: ${version} (Node.js ${nodeVersion})`, `data: ${state}, ${warning ?? age}`];
}

function sendJson(response: ServerResponse, body: string): void {
  sendText(response, 200, `${body}\n`, 'application/json');
}

function sendText(
  response: ServerResponse,
  code: number,
  body: string,
  type: string = TEXT_HEADERS['content-type'],
): void {
  response.writeHead(code, { ...TEXT_HEADERS, 'content-type': type });
  response.end(body);
}
