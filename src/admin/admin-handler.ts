import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Registry } from '@prometheus-io/client';
import type { Logger } from 'pino';
import { type ErrorCode, WrapperError } from '../errors.ts';
import { serializeQueries } from '../proxy/api/query-json.ts';
import { readUrl } from '../proxy/api/request-url.ts';
import { hasBody, refuseRequest } from '../proxy/http/http-errors.ts';
import { reasonOf } from '../proxy/http/refusal-log.ts';
import { assertLocalRequest } from '../proxy/http/request-checks.ts';
import type { NodeProxy } from '../proxy/node-proxy.ts';
import { escapeJson, printLine } from '../untrusted-text.ts';
import { healthOf } from './causes.ts';
import type { DataAge } from './data-age.ts';
import { ExplainRoutes, isExplainPath } from './explain-routes.ts';
import type { LogLosses } from './metric-readers.ts';
import { createMetrics } from './metrics.ts';
import { nodeState } from './page/node-state.ts';
import { createPageServer, type PageServer } from './page/page-server.ts';
import { versionInfo } from './version-info.ts';

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
  proxy: NodeProxy,
  logger: Logger,
  log?: LogLosses,
): AdminHandler {
  const parts: AdminParts = {
    proxy,
    metrics: createMetrics(proxy, log),
    page: createPageServer(logger),
    explain: new ExplainRoutes(proxy),
  };
  const { refusals } = proxy.listeners;
  return {
    handle(request, response) {
      const { method: verb, url: resource } = request;
      const about = { listener: ADMIN_LISTENER, verb, resource };
      const route = resolveRoute(request, parts);
      if ('code' in route) {
        refusals.record({ ...about, ...route });
        const headers = { ...TEXT_HEADERS, ...route.headers };
        const body = printLine(route.message);
        return refuseRequest(request, response, { code: route.code, headers, body });
      }
      route.answer(request, response).catch((error: unknown) => {
        const why = { reason: reasonOf(error), message: 'an error of the wrapper itself' };
        refusals.record({ ...about, ...why, err: error, level: 'error' });
        response.destroy();
      });
    },
  };
}

interface AdminParts {
  readonly proxy: NodeProxy;
  readonly metrics: Registry;
  readonly page: PageServer;
  readonly explain: ExplainRoutes;
}

interface Route {
  readonly methods: readonly string[];
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}

/** A response with an error status. */
interface Refusal {
  readonly code: number;
  readonly reason: ErrorCode;
  readonly message: string;
  readonly headers?: OutgoingHttpHeaders;
}

/** The route of a request, or why the request is refused. */
function resolveRoute(request: IncomingMessage, parts: AdminParts): Route | Refusal {
  try {
    // A web page in a browser on this node could have sent the request.
    assertLocalRequest(request);
  } catch (error) {
    const { message } = WrapperError.from(error, 'Forbidden');
    return { code: 403, reason: 'Forbidden', message };
  }
  const route = routeOf(readUrl(request).path, parts);
  if (route === undefined) {
    return { code: 404, reason: 'NotFound', message: `unknown path; the paths are ${PATHS}` };
  }
  const { methods } = route;
  if (!methods.includes(request.method ?? '')) {
    const message = `the method must be ${methods.join(' or ')}`;
    const headers = { allow: methods.join(', ') };
    return { code: 405, reason: 'MethodNotAllowed', message, headers };
  }
  // Nothing would read the body, so its bytes could be parsed as the next request.
  if (hasBody(request)) {
    return {
      code: 400,
      reason: 'BadRequest',
      message: 'a request to this port must not have a body',
    };
  }
  return route;
}

const PATHS =
  '/, /node, /explain, /decisions, /diff, /table, /summary, /status, /views, /flush, /version, /healthz, /readyz and /metrics';
const READ = ['GET', 'HEAD'];

function routeOf(path: string, { proxy, metrics, page, explain }: AdminParts): Route | undefined {
  const read = (answer: Route['answer']): Route => ({ methods: READ, answer });
  switch (path) {
    case '/healthz':
      return read(async (_, response) => sendText(response, 200, 'ok\n'));
    case '/readyz':
      return read(async (_, response) => sendReadiness(response, proxy));
    case '/metrics':
      return read(async (_, response) =>
        sendText(response, 200, await metrics.metrics(), metrics.contentType),
      );
    case '/version':
      return read(async (_, response) => sendJson(response, JSON.stringify(versionInfo(proxy))));
    case '/node':
      return read(async (_, response) =>
        sendJson(response, escapeJson(JSON.stringify(nodeState(proxy)))),
      );
    case '/views':
      return read(async (_, response) => sendViews(response, proxy));
    case '/flush':
      return { methods: ['POST'], answer: (_, response) => flush(response, proxy) };
    default:
      if (page.hasFile(path)) return read((_, response) => page.sendFile(path, response));
      if (isExplainPath(path)) {
        return read((request, response) => explain.answer(request, response));
      }
      return undefined;
  }
}

/**
 * Sends the queries of the complete views. The next process opens these views before it listens. It would wait
 * forever for a view that never becomes complete.
 */
function sendViews(response: ServerResponse, { views }: NodeProxy): void {
  const complete = views.sources.filter(({ view }) => view.started);
  const queries = complete.map(({ query }) => query);
  sendJson(response, serializeQueries(queries));
}

/**
 * Writes the snapshots that are not on disk. The next process requests it before it reads them. The write bound stays:
 * later writes wait for longer.
 */
async function flush(response: ServerResponse, { snapshots }: NodeProxy): Promise<void> {
  await snapshots?.flush();
  sendText(response, 200, 'ok\n');
}

/**
 * One line for each check, `[-]` for a failed one, like /readyz?verbose of kube-apiserver, and `[!]` for one that passes
 * although something is wrong. Then the causes of failed checks, the version and the age of the data.
 */
function sendReadiness(response: ServerResponse, proxy: NodeProxy): void {
  const { checks, data, causes } = healthOf(proxy);
  const lines = checks.map(({ name, problem, degraded, remark }) => {
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

function aboutLines(proxy: NodeProxy, { state, ageSeconds, warning }: DataAge): string[] {
  const { version, nodeVersion } = versionInfo(proxy);
  return [
    `version: ${version} (Node.js ${nodeVersion})`,
    `data: ${state}, ${warning ?? `${ageSeconds} s old`}`,
  ];
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
