import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Registry } from '@prometheus-io/client';
import type { Logger } from 'pino';
import { WrapperError } from '../errors.ts';
import type { NodeProxy } from '../proxy/node-proxy.ts';
import { answerExplain } from './explain/routes.ts';
import { createMetrics } from './metrics.ts';
import { type Check, readiness } from './readiness.ts';

export interface AdminOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly proxy: NodeProxy;
  readonly logger: Logger;
}

/** The admin listener: /healthz, /readyz, /metrics, and what explain/routes.ts answers. */
export interface Admin {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts the admin listener. Rejects when the address is taken. */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const { host, port, proxy, logger } = options;
  const metrics = createMetrics(proxy);
  const server = createServer((request, response) => {
    answer(request, response, proxy, metrics).catch((error: unknown) => {
      logger.error({ err: error, resource: request.url }, 'admin request failed');
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      const message = `cannot listen on ${host}:${port} (adminListen): ${cause.message}`;
      reject(new WrapperError('InvalidSettings', message, { cause }));
    });
    server.listen({ host, port }, resolve);
  });
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  proxy: NodeProxy,
  metrics: Registry,
): Promise<void> {
  const [path] = (request.url ?? '').split('?', 1);
  if (request.method !== 'GET') return text(response, 405, 'only GET\n');
  if (path === '/healthz') return text(response, 200, 'ok\n');
  if (path === '/readyz') return answerReadiness(response, readiness(proxy, Date.now()));
  if (path === '/metrics') {
    return text(response, 200, await metrics.metrics(), metrics.contentType);
  }
  if (await answerExplain(request, response, proxy)) return;
  text(response, 404, 'there are /explain, /diff, /table, /healthz, /readyz and /metrics\n');
}

/** As an apiserver's /readyz?verbose: one line per check, `[-]` where something is missing. */
function answerReadiness(response: ServerResponse, checks: readonly Check[]): void {
  const lines = checks.map(({ name, problem }) =>
    problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`,
  );
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
