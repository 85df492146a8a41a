import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { readiness } from '../../admin/readiness.ts';
import { queryPath } from '../../proxy/api/query.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import { VERSION } from '../../version.ts';

/** Time between two checks whether everything is ready, in milliseconds. */
const POLL_MS = 500;

/** The first line of the log. @param settings those that differ from the defaults */
export function logStart(logger: Logger, settings: Readonly<Record<string, unknown>>): void {
  const fields = { version: VERSION, nodeVersion: process.version, settings };
  logger.info(fields, `kube-proxy-wrapper ${VERSION} starts`);
}

/**
 * Logs once when /readyz is green for the first time, and once when the endpoints have arrived too, with what is watched
 * then. Returns after both, or when the signal aborts. Never rejects.
 */
export async function logWhenReady(options: {
  readonly proxy: NodeProxy;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Time between two checks, in milliseconds; default 500. */
  readonly pollMs?: number;
}): Promise<void> {
  const { proxy, logger, signal, pollMs = POLL_MS } = options;
  const until = async (condition: () => boolean): Promise<boolean> => {
    while (!condition()) {
      const isOver = await delay(pollMs, false, { signal, ref: false }).catch(() => true);
      if (isOver) return false;
    }
    return true;
  };
  const isReady = () => readiness(proxy).every(({ problem }) => problem === undefined);
  if (!(await until(isReady))) return;
  logger.info({ apiServer: proxy.upstream.address }, 'ready');
  const hasEndpoints = () => proxy.views.sources.some(({ projection }) => projection !== undefined);
  if (!(await until(() => hasEndpoints() && isReady()))) return;
  const { views, topology, clusterWatchers } = proxy;
  const watched = [...views.sources, ...clusterWatchers.sources];
  logger.info(
    {
      watches: watched.map(({ query }) => queryPath(query)),
      nodeSets: [...topology.nodeSets.keys()],
      services: [...topology.policies.services()].length,
    },
    'endpoints are served: all that is watched has arrived',
  );
}
