import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Query } from '../client/api/query.ts';
import { serializeQueries } from '../client/api/query-json.ts';
import { readUrl } from '../client/api/request-url.ts';
import { statusOf } from '../client/api/status.ts';
import { withDetail } from '../diagnosis/reading/causes.ts';
import { readHealth } from '../diagnosis/reading/health.ts';
import { NodeReader } from '../diagnosis/reading/node-reading.ts';
import type { Check } from '../diagnosis/reading/readiness.ts';
import { versionInfo } from '../diagnosis/reading/version-info.ts';
import { WrapperError } from '../errors.ts';
import { answerAndEnd, hasBody } from '../server/http/http-errors.ts';
import { reasonOf } from '../server/http/refusal-log.ts';
import { assertLocalRequest } from '../server/http/request-checks.ts';
import type { ProxyState } from '../server/node-proxy.ts';
import { printLine } from '../text/untrusted-text.ts';
import { VERSION } from '../version.ts';
import { type Answer, jsonAnswer, type Route } from './answer.ts';
import { explainRoutes, NAMED_PATHS } from './explain-routes.ts';
import type { LogLosses } from './metrics/metric-readers.ts';
import { createMetrics } from './metrics/metrics.ts';
import { metricsText } from './metrics/metrics-text.ts';
import { nodeDetails } from './page/node-details.ts';
import { pageRoutes } from './page/page-server.ts';
import { KernelRules } from './status/kernel-rules.ts';

/** Name of the setting with the address, for log lines and metrics. */
export const ADMIN_LISTENER = 'adminListen';
/** Paths with which kubelet checks whether this process is alive and ready. */
export const PROBES: readonly string[] = ['/healthz', '/readyz'];

const TEXT_HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'x-content-type-options': 'nosniff',
} as const;

/** Returns what answers the requests of the admin listener of one node. */
export function createAdminHandler(
  proxy: ProxyState,
  logger: Logger,
  log?: LogLosses,
  stop?: AbortSignal,
): (request: IncomingMessage, response: ServerResponse) => void {
  const routes = routesOf(proxy, logger, log, stop);
  const { refusals } = proxy.listeners;
  return (request, response) => {
    const about = { listener: ADMIN_LISTENER, verb: request.method, resource: request.url };
    const path = pathOf(request);
    const methods = path === '/flush' ? ['POST'] : ['GET', 'HEAD'];
    const route = routes.get(path);
    try {
      assertAccepted(request, route !== undefined, methods);
    } catch (error) {
      const { code: reason, message } = WrapperError.from(error, 'Forbidden');
      refusals.report({ ...about, reason, message });
      const headers: OutgoingHttpHeaders = { ...TEXT_HEADERS };
      if (reason === 'MethodNotAllowed') headers.allow = methods.join(', ');
      const { code } = statusOf(error);
      return answerAndEnd(request, response, { code, headers, body: printLine(message) });
    }
    const answerUnlessGone = async (): Promise<void> => {
      if (!PROBES.includes(path)) await endNoticed();
      const answer = response.destroyed ? undefined : await route?.(request, response);
      if (answer === undefined) return;
      response.writeHead(answer.code ?? 200, answer.headers ?? TEXT_HEADERS).end(answer.body);
    };
    answerUnlessGone().catch((error: unknown) => {
      const why = { reason: reasonOf(error), message: 'an error of the wrapper itself' };
      refusals.report({ ...about, ...why, err: error, level: 'error' });
      response.destroy();
    });
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

/** The path of a request, without the names of a Service. */
function pathOf(request: IncomingMessage): string {
  const { path } = readUrl(request);
  const first = path.split('/', 2).join('/');
  return NAMED_PATHS.includes(first) ? first : path;
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

function routesOf(
  proxy: ProxyState,
  logger: Logger,
  log: LogLosses | undefined,
  stop: AbortSignal | undefined,
): ReadonlyMap<string, Route> {
  const reader = new NodeReader(proxy);
  const rules = new KernelRules(reader);
  const metrics = createMetrics(reader, log, rules);
  const text = metricsText(metrics);
  return new Map<string, Route>([
    ...explainRoutes(reader, rules),
    ...pageRoutes(logger),
    ['/healthz', () => OK],
    ['/readyz', () => readinessOf(proxy, rules)],
    [
      '/metrics',
      async () => {
        await rules.look();
        const headers = { ...TEXT_HEADERS, 'content-type': metrics.registry.contentType };
        return { headers, body: await text.get() };
      },
    ],
    ['/version', () => jsonAnswer(JSON.stringify(versionInfo(proxy, stop)))],
    ['/node', () => jsonAnswer(JSON.stringify(nodeDetails(reader)))],
    ['/views', () => jsonAnswer(serializeQueries(completeQueries(proxy)))],
    ['/flush', () => flush(proxy)],
  ]);
}

const OK: Answer = { body: 'ok\n' };

/**
 * The queries of the complete views. The next process opens these views before it listens. It would wait forever for a
 * view that never becomes complete.
 */
function completeQueries({ views }: ProxyState): Query[] {
  return views.sources.filter(({ view }) => view.started).map(({ query }) => query);
}

/**
 * Writes the snapshots that are not on disk. The next process requests it before it reads them. The write bound stays:
 * later writes wait for longer.
 */
async function flush({ snapshots }: ProxyState): Promise<Answer> {
  await snapshots?.flush();
  return OK;
}

/**
 * One line for each check, `[-]` for a failed one, like /readyz?verbose of kube-apiserver, and `[!]` for one that
 * passes although something is wrong. Then the causes of failed checks, the version and the age of the data.
 */
function readinessOf(proxy: ProxyState, rules: KernelRules): Answer {
  const { checks, data, causes } = readHealth(proxy);
  const age = data.missing ? 'none yet' : `${data.ageSeconds} s old`;
  const failed = causes.length > 0;
  const lines = [
    ...[...checks, ...rules.checks()].map(checkLine),
    ...causes.map(
      ({ text, detail, checks: n }) =>
        `cause: ${withDetail(text, detail)}${n > 1 ? ` (${n} checks)` : ''}`,
    ),
    `version: ${VERSION} (Node.js ${process.version})`,
    `data: ${data.state}, ${data.warning ?? age}`,
    failed ? 'readyz check failed' : 'readyz check passed',
  ];
  return { code: failed ? 503 : 200, body: lines.map(printLine).join('') };
}

function checkLine({ name, problem, degraded, detail, remark }: Check): string {
  if (problem !== undefined) return `[-]${name} failed: ${withDetail(problem, detail)}`;
  if (degraded !== undefined) return `[!]${name} degraded: ${withDetail(degraded, detail)}`;
  return remark === undefined ? `[+]${name} ok` : `[+]${name} ok, ${remark}`;
}
