import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { readiness } from '../admin/readiness.ts';
import { queryPath } from '../proxy/api/query.ts';
import type { NodeProxy } from '../proxy/node-proxy.ts';
import { VERSION } from '../version.ts';

/** Time between two checks whether everything is ready, in milliseconds. */
const POLL_MS = 500;

/** The first line of the log. @param settings those that differ from the defaults */
export function logStart(logger: Logger, settings: Readonly<Record<string, unknown>>): void {
  const fields = { version: VERSION, nodeVersion: process.version, settings };
  logger.info(fields, `kube-proxy-wrapper ${VERSION} starts`);
}

/**
 * Logs once when everything that the API server must send has arrived, with what is watched. Returns when the signal
 * aborts. Never rejects.
 */
export async function logWhenReady(options: {
  readonly proxy: NodeProxy;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Time between two checks, in milliseconds; default 500. */
  readonly pollMs?: number;
}): Promise<void> {
  const { proxy, logger, signal, pollMs = POLL_MS } = options;
  while (!isComplete(proxy)) {
    const isOver = await delay(pollMs, false, { signal, ref: false }).catch(() => true);
    if (isOver) return;
  }
  const { views, topology, clusterWatchers, upstream } = proxy;
  const watched = [...views.sources, ...clusterWatchers.sources];
  logger.info(
    {
      apiServer: upstream.address,
      watches: watched.map(({ query }) => queryPath(query)),
      nodeSets: [...topology.nodeSets.keys()],
      services: [...topology.policies.services()].length,
    },
    'ready: everything that is watched has arrived',
  );
}

/** With a view of endpoints, because without one there is nothing to decide. */
function isComplete(proxy: NodeProxy): boolean {
  if (!proxy.views.sources.some(({ projection }) => projection !== undefined)) return false;
  return readiness(proxy).every(({ problem }) => problem === undefined);
}
