import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Registry } from '@prometheus-io/client';
import type { Logger } from 'pino';
import { WrapperError } from '../errors.ts';
import { Door, type DoorAddress } from '../proxy/door.ts';
import type { DoorBounds } from '../proxy/door-refusal.ts';
import { assertLocalRequest, assertUnambiguous } from '../proxy/host-check.ts';
import type { NodeProxy } from '../proxy/node-proxy.ts';
import { writeQuestions } from '../proxy/questions-json.ts';
import { readUrl } from '../proxy/request-url.ts';
import { answerExplain, isExplainPath } from './explain/routes.ts';
import type { LogLosses } from './metric-readers.ts';
import { createMetrics } from './metrics.ts';
import { createPageServer, type PageServer } from './page/answer-page.ts';
import { type Check, readiness } from './readiness.ts';

export interface AdminOptions {
  readonly address: DoorAddress;
  readonly bounds: DoorBounds;
  readonly proxy: NodeProxy;
  readonly logger: Logger;
  /** Where the logger writes; absent: to what loses no line. */
  readonly log?: LogLosses;
}

/**
 * The admin listener: the page, /healthz, /readyz, /metrics, /views, /succession, and what explain/routes.ts
 * answers.
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

/** What tells kubelet whether this process is alive and ready. */
const PROBES = ['/healthz', '/readyz'];
/** So many requests in work can only be these, so that slow pages and scrapers do not make a process look dead. */
const FOR_PROBES = 8;

/** Starts the admin listener. Rejects when the address is taken. */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const handler = createAdminHandler(options.proxy, options.logger, options.log);
  const { maxConnections } = options.bounds;
  const most = maxConnections - Math.min(FOR_PROBES, Math.floor(maxConnections / 2));
  const inWork = new Set<ServerResponse>();
  const door = new Door({
    ...options,
    name: 'adminListen',
    onRequest(request, response) {
      if (!PROBES.includes(readUrl(request).path)) {
        if (inWork.size >= most) {
          response.setHeader('connection', 'close');
          return text(response, 503, `${most} requests are in work already (maxConnections)\n`);
        }
        inWork.add(response);
        response.once('close', () => inWork.delete(response));
      }
      handler.handle(request, response);
    },
  });
  return {
    url: await door.listen(),
    async close() {
      await handler.close();
      await door.close(0, () => {});
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
  };
  return {
    handle(request, response) {
      answer(request, response, parts).catch((error: unknown) => {
        logger.error({ err: error, resource: request.url }, 'admin request failed');
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
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { proxy, metrics, page }: AdminParts,
): Promise<void> {
  const refusal = refusalOf(request);
  if (refusal !== undefined) return text(response, 403, `${refusal}\n`);
  const { path } = readUrl(request);
  const { method = '' } = request;
  const methods = methodsOf(path, page);
  if (methods === undefined) return text(response, 404, `there are ${PATHS}\n`);
  if (!methods.includes(method)) {
    response.setHeader('allow', methods.join(', '));
    return text(response, 405, `only ${methods.join(' and ')}\n`);
  }
  if (path === '/healthz') return text(response, 200, 'ok\n');
  if (path === '/readyz') return answerReadiness(response, readiness(proxy));
  if (path === '/metrics') {
    return text(response, 200, await metrics.metrics(), metrics.contentType);
  }
  if (path === '/views') {
    // A successor waits for these; for one that never became complete it would wait for ever.
    const complete = proxy.views.sources.filter(({ view }) => view.started);
    const questions = complete.map(({ question }) => question);
    return text(response, 200, `${writeQuestions(questions)}\n`, 'application/json');
  }
  if (path === '/succession') {
    if (!proxy.bequest.add(response)) text(response, 503, 'too many wait for this already\n');
    return;
  }
  if (path === '/events') return page.sendEvents(response);
  if (page.hasFile(path)) return await page.sendFile(path, response);
  await answerExplain(request, response, proxy);
}

/** For whoever asks for another one. */
const PATHS =
  '/, /explain, /decisions, /diff, /table, /views, /succession, /healthz, /readyz and /metrics';

/** The methods that a path takes; undefined: there is no such path. */
function methodsOf(path: string, page: PageServer): readonly string[] | undefined {
  // These answer when something happens, for which a HEAD would wait.
  if (path === '/events' || path === '/succession') return ['GET'];
  const texts = [...PROBES, '/metrics', '/views'];
  const known = texts.includes(path) || page.hasFile(path) || isExplainPath(path);
  return known ? ['GET', 'HEAD'] : undefined;
}

/** Why a request is not answered: a web page may have sent it. */
function refusalOf(request: IncomingMessage): string | undefined {
  try {
    assertUnambiguous(request);
    assertLocalRequest(request);
    return undefined;
  } catch (error) {
    return WrapperError.from(error, 'Forbidden').message;
  }
}

/** As an apiserver's /readyz?verbose: one line per check, `[-]` where something is missing. */
function answerReadiness(response: ServerResponse, checks: readonly Check[]): void {
  const lines = checks.map(({ name, problem, remark }) => {
    if (problem !== undefined) return `[-]${name} failed: ${problem}`;
    return remark === undefined ? `[+]${name} ok` : `[+]${name} ok, ${remark}`;
  });
  const failed = checks.some(({ problem }) => problem !== undefined);
  lines.push(failed ? 'readyz check failed' : 'readyz check passed');
  text(response, failed ? 503 : 200, `${lines.join('\n')}\n`);
}

function text(
  response: ServerResponse,
  code: number,
  body: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(code, { 'content-type': type, 'x-content-type-options': 'nosniff' });
  response.end(body);
}
