import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Registry } from '@prometheus-io/client';
import type { Logger } from 'pino';
import { type ErrorCode, WrapperError } from '../errors.ts';
import { serializeQueries } from '../proxy/api/query-json.ts';
import { readUrl } from '../proxy/api/request-url.ts';
import { hasBody, type ListenerLimits, refuseRequest } from '../proxy/http/http-errors.ts';
import { HttpListener, type ListenAddress } from '../proxy/http/http-listener.ts';
import { reasonOf } from '../proxy/http/refusal-log.ts';
import { assertLocalRequest } from '../proxy/http/request-checks.ts';
import type { NodeProxy } from '../proxy/node-proxy.ts';
import { printLine } from '../untrusted-text.ts';
import { ExplainRoutes, isExplainPath } from './explain/routes.ts';
import type { LogLosses } from './metric-readers.ts';
import { createMetrics } from './metrics.ts';
import { createPageServer, type PageServer } from './page/answer-page.ts';
import { type Check, readiness } from './readiness.ts';

export interface AdminOptions {
  readonly address: ListenAddress;
  readonly bounds: ListenerLimits;
  readonly proxy: NodeProxy;
  readonly logger: Logger;
  /** Where the logger writes; absent: to what loses no line. */
  readonly log?: LogLosses;
}

/**
 * The admin listener: the page, /healthz, /readyz, /metrics, /views, and what explain/routes.ts answers.
 */
export interface Admin {
  readonly url: string;
  close(): Promise<void>;
}

/** What the admin listener answers, without the listener. */
export interface AdminHandler {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Ends what it still sends. */
  close(): Promise<void>;
}

/** Name of the setting with the address, for messages and metrics. */
const NAME = 'adminListen';
const TEXT_HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'x-content-type-options': 'nosniff',
} as const;
/** What tells kubelet whether this process is alive and ready. */
const PROBES = ['/healthz', '/readyz'];
/** So many requests under way can only be these, so that slow pages and scrapers do not make a process look dead. */
const FOR_PROBES = 8;
/** Other requests under way: pages, scrapers, explanations. Each takes time that probes have to wait. */
const MAX_OTHERS = 16;
/** For headers, and for a request, to arrive: kubelet gives up a probe after a second, and none has a body. */
const REQUEST_MS = 2_000;
/** kubelet connects anew for each probe; scrapers come less often than this, and connect again. */
const KEEP_ALIVE_MS = 5_000;
/** For a client to read the end of an answer. */
const WRITE_TIMEOUT_MS = 10_000;

/** Starts the admin listener. Rejects when the address is taken. */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const { proxy, logger, log, bounds } = options;
  const { refusals } = proxy.listeners;
  const handler = createAdminHandler(proxy, logger, log);
  const { maxConnections } = bounds;
  const forOthers = maxConnections - Math.min(FOR_PROBES, Math.floor(maxConnections / 2));
  const listener = new HttpListener({
    ...{ address: options.address, logger, refusals },
    name: NAME,
    bounds: {
      ...bounds,
      headersTimeoutMs: Math.min(bounds.headersTimeoutMs, REQUEST_MS),
      requestTimeoutMs: Math.min(bounds.requestTimeoutMs, REQUEST_MS),
    },
    kindOf: (request) => (PROBES.includes(readUrl(request).path) ? 'probe' : 'other'),
    maxOfKind: { other: Math.min(MAX_OTHERS, forOthers) },
    keepAliveMs: KEEP_ALIVE_MS,
    writeTimeoutMs: WRITE_TIMEOUT_MS,
    onRequest: (request, response) => handler.handle(request, response),
  });
  return {
    url: await listener.listen(),
    async close() {
      await handler.close();
      await listener.close(0, () => {});
    },
  };
}

/** Answers requests about one node. */
export function createAdminHandler(
  proxy: NodeProxy,
  logger: Logger,
  log?: LogLosses,
): AdminHandler {
  const parts = {
    proxy,
    metrics: createMetrics(proxy, log),
    page: createPageServer(proxy, logger),
    explain: new ExplainRoutes(proxy),
  };
  return {
    handle(request, response) {
      answer(request, response, parts).catch((error: unknown) => {
        const { method: verb, url: resource } = request;
        const why = { reason: reasonOf(error), message: 'an error of the wrapper itself' };
        const failed = { ...why, verb, resource, err: error, level: 'error' } as const;
        proxy.listeners.refusals.record({ listener: NAME, ...failed });
        response.destroy();
      });
    },
    close: () => parts.page.close(),
  };
}

interface AdminParts {
  readonly proxy: NodeProxy;
  readonly metrics: Registry;
  readonly page: PageServer;
  readonly explain: ExplainRoutes;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { proxy, metrics, page, explain }: AdminParts,
): Promise<void> {
  const { path } = readUrl(request);
  const refusal = refusalOf(request, path, page);
  if (refusal !== undefined) {
    const { url: resource, method: verb } = request;
    proxy.listeners.refusals.record({ listener: NAME, ...refusal, verb, resource });
    const { code, message, headers = {} } = refusal;
    const all = { ...TEXT_HEADERS, ...headers };
    return refuseRequest(request, response, { code, headers: all, body: printLine(message) });
  }
  if (path === '/healthz') return text(response, 200, 'ok\n');
  if (path === '/readyz') return answerReadiness(response, readiness(proxy));
  if (path === '/metrics') {
    return text(response, 200, await metrics.metrics(), metrics.contentType);
  }
  if (path === '/views') {
    // A successor waits for these; for one that never became complete it would wait for ever.
    const complete = proxy.views.sources.filter(({ view }) => view.started);
    const queries = complete.map(({ query }) => query);
    return text(response, 200, `${serializeQueries(queries)}\n`, 'application/json');
  }
  if (path === '/events') return page.sendEvents(response);
  if (page.hasFile(path)) return await page.sendFile(path, response);
  await explain.answer(request, response);
}

/** For whoever asks for another one. */
const PATHS = '/, /explain, /decisions, /diff, /table, /views, /healthz, /readyz and /metrics';

/** The methods that a path takes; undefined: there is no such path. */
function methodsOf(path: string, page: PageServer): readonly string[] | undefined {
  // It answers when something happens, for which a HEAD would wait.
  if (path === '/events') return ['GET'];
  const texts = [...PROBES, '/metrics', '/views'];
  const known = texts.includes(path) || page.hasFile(path) || isExplainPath(path);
  return known ? ['GET', 'HEAD'] : undefined;
}

interface AdminRefusal {
  readonly code: number;
  readonly reason: ErrorCode;
  readonly message: string;
  readonly headers?: OutgoingHttpHeaders;
}

/** Why a request is not answered; undefined: it is. */
function refusalOf(
  request: IncomingMessage,
  path: string,
  page: PageServer,
): AdminRefusal | undefined {
  try {
    // A web page may have sent it.
    assertLocalRequest(request);
  } catch (error) {
    const { message } = WrapperError.from(error, 'Forbidden');
    return { code: 403, reason: 'Forbidden', message };
  }
  const methods = methodsOf(path, page);
  if (methods === undefined) {
    return { code: 404, reason: 'NotFound', message: `there are ${PATHS}` };
  }
  if (!methods.includes(request.method ?? '')) {
    const message = `only ${methods.join(' and ')}`;
    const headers = { allow: methods.join(', ') };
    return { code: 405, reason: 'MethodNotAllowed', message, headers };
  }
  // It would not be read, and what comes after it might be taken for the next request.
  if (hasBody(request)) {
    return { code: 400, reason: 'BadRequest', message: 'requests to this port have no body' };
  }
  return undefined;
}

/** As an apiserver's /readyz?verbose: one line per check, `[-]` where something is missing. */
function answerReadiness(response: ServerResponse, checks: readonly Check[]): void {
  const lines = checks.map(({ name, problem, remark }) => {
    if (problem !== undefined) return `[-]${name} failed: ${problem}`;
    return remark === undefined ? `[+]${name} ok` : `[+]${name} ok, ${remark}`;
  });
  const failed = checks.some(({ problem }) => problem !== undefined);
  lines.push(failed ? 'readyz check failed' : 'readyz check passed');
  text(response, failed ? 503 : 200, lines.map(printLine).join(''));
}

function text(
  response: ServerResponse,
  code: number,
  body: string,
  type: string = TEXT_HEADERS['content-type'],
): void {
  response.writeHead(code, { ...TEXT_HEADERS, 'content-type': type });
  response.end(body);
}
