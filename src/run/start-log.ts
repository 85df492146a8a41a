import type { Logger } from 'pino';
import { queryPath } from '../client/api/query.ts';
import type { Settings } from '../config/settings.ts';
import { isReady } from '../diagnosis/reading/health.ts';
import type { ProxyState } from '../server/node-proxy.ts';
import { VERSION } from '../version.ts';
import { pollUntil } from './poll-until.ts';

/** The first line of the log. @param settings those that differ from the defaults */
export function logStart(logger: Logger, settings: Readonly<Record<string, unknown>>): void {
  const fields = { version: VERSION, nodeVersion: process.version, settings };
  logger.info(fields, `kube-proxy-wrapper ${VERSION} starts`);
}

/** Names the way out of settings that the next minor version does not have. */
export function warnOfDeprecated(logger: Logger, { relays }: Settings): void {
  if (relays?.servers === undefined) return;
  logger.warn(
    'relays.servers is deprecated, and the next minor version does not have it: set relays.service to NAMESPACE/NAME of the Service of the relays, whose certificate then needs the name NAME.NAMESPACE.svc (docs/relay.md)',
  );
}

/** Logs once when /readyz is green for the first time, with what is watched then. Rejects when the signal aborts. */
export async function logWhenReady(options: {
  readonly proxy: ProxyState;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { proxy, logger, signal } = options;
  await pollUntil(() => isReady(proxy), signal);
  const { views, topology, clusterWatchers, upstream } = proxy;
  const watched = [...views.sources, ...clusterWatchers];
  logger.info(
    {
      apiServer: upstream.address,
      watches: watched.map(({ query }) => queryPath(query)),
      nodeSets: [...topology.nodeSets.keys()],
      services: [...topology.policies.services()].length,
    },
    'ready',
  );
}
