import { startRelayAdmin } from '../admin/relay-admin.ts';
import { nodeProxyOptions } from '../config/node-proxy-options.ts';
import type { RawSettings } from '../config/settings.ts';
import { logReadiness } from '../relay/readiness-log.ts';
import { startRelay } from '../relay/relay.ts';
import { relayProblem } from '../relay/relay-reading.ts';
import { warnOfSharedPort } from '../server/hot-restart/hot-restart.ts';
import { DRAIN_MS, type RunOptions, run, untilStopped } from './run.ts';
import { trimHeapAfterLists } from './trim-heap.ts';

/** A site that boots has read its lists by then, on a link and on machines that are not slow. */
const FIRST_LISTS_MS = 30_000;

/** Runs a relay until SIGTERM or SIGINT, as {@link run} the wrapper. */
export async function runRelay(flags: RawSettings, configFile: string | undefined): Promise<void> {
  await run(flags, configFile, start);
}

async function start(options: RunOptions): Promise<void> {
  const { settings, listeners, credentials, signals, logger, log } = options;
  const { admin: address, https } = listeners;
  const relay = await startRelay({
    ...nodeProxyOptions(settings),
    https,
    credentials,
    drainMs: DRAIN_MS,
    signal: signals.stop,
    logger,
  });
  const ended = new AbortController();
  const stopLog = logReadiness(() => relayProblem(relay), logger);
  try {
    const admin = await startRelayAdmin(address, relay, log);
    const { url, upstream } = relay;
    logger.info({ https: url, admin: admin.url, apiServer: upstream.address }, 'listening');
    const isRead = () => relay.listeners.watches > 0 && relayProblem(relay) === undefined;
    const { signal } = ended;
    const firstListsMs = FIRST_LISTS_MS;
    const { views } = relay;
    void trimHeapAfterLists({ isReady: isRead, views, logger, signal, firstListsMs });
    const addresses = https === undefined ? [] : [https.address];
    void warnOfSharedPort(addresses, logger, signal);
    await untilStopped(signals, settings.handoverSeconds * 1000, addresses, logger);
    logger.info('stopping');
    await admin.close();
  } finally {
    ended.abort();
    stopLog();
    await relay.close();
  }
}
