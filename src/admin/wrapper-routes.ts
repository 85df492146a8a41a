import type { Logger } from 'pino';
import type { Query } from '../client/api/query.ts';
import { serializeQueries } from '../client/api/query-json.ts';
import { withDetail } from '../diagnosis/reading/causes.ts';
import { readHealth } from '../diagnosis/reading/health.ts';
import { NodeReader } from '../diagnosis/reading/node-reading.ts';
import type { Check } from '../diagnosis/reading/readiness.ts';
import { versionInfo } from '../diagnosis/reading/version-info.ts';
import type { ProxyState } from '../server/node-proxy.ts';
import { printLine } from '../text/untrusted-text.ts';
import { VERSION } from '../version.ts';
import { createHandler } from './admin-handler.ts';
import { type Answer, jsonAnswer, type Route } from './answer.ts';
import { explainRoutes } from './explain-routes.ts';
import type { LogLosses } from './metrics/metric-readers.ts';
import { createMetrics } from './metrics/metrics.ts';
import { metricsRoute } from './metrics-route.ts';
import { nodeDetails } from './page/node-details.ts';
import { pageRoutes } from './page/page-server.ts';
import { KernelRules } from './status/kernel-rules.ts';

const PATHS =
  '/, /node, /explain, /decisions, /diff, /summary, /status, /views, /flush, /version, /healthz, /readyz and /metrics';

/** Returns what answers the requests of the admin listener of one node. */
export function createAdminHandler(proxy: ProxyState, logger: Logger, log?: LogLosses) {
  const reader = new NodeReader(proxy);
  const rules = new KernelRules(reader);
  const metrics = metricsRoute(createMetrics(reader, log, rules));
  const routes = new Map<string, Route>([
    ...explainRoutes(reader, rules),
    ...pageRoutes(logger),
    ['/healthz', () => OK],
    ['/readyz', () => readinessOf(proxy, rules)],
    [
      '/metrics',
      async () => {
        await rules.findLines();
        return await metrics();
      },
    ],
    ['/version', () => jsonAnswer(JSON.stringify(versionInfo(proxy)))],
    ['/node', () => jsonAnswer(JSON.stringify(nodeDetails(reader)))],
    ['/views', () => jsonAnswer(serializeQueries(completeQueries(proxy)))],
    ['/flush', () => flush(proxy)],
  ]);
  return createHandler({ routes, paths: PATHS }, proxy.listeners.refusals);
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
