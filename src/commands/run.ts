import { pino } from 'pino';
import { startAdmin } from '../admin/admin.ts';
import { loadSettings, type RawSettings, type Settings } from '../config/settings.ts';
import { loadCredentials } from '../proxy/credentials.ts';
import { assertLoopback } from '../proxy/listener.ts';
import { type NodeProxyOptions, startNodeProxy } from '../proxy/node-proxy.ts';

/** Watches without a timeout of their own last at least this long, in milliseconds, as at an apiserver. */
const MIN_WATCH_MS = 30 * 60_000;

/**
 * Runs the wrapper until SIGTERM or SIGINT. Rejects, before anything listens, when the settings or the
 * kubeconfig cannot be used.
 */
export async function run(flags: RawSettings, configFile: string | undefined): Promise<void> {
  const settings = loadSettings(flags, process.env, configFile);
  assertLoopback(settings.listen.host);
  const logger = pino({ level: settings.logLevel, base: { node: settings.nodeName } });
  const credentials = await loadCredentials({
    ...(settings.kubeconfig === undefined ? {} : { kubeconfig: settings.kubeconfig }),
    logger,
  });
  const proxy = await startNodeProxy({
    ...settings,
    ...settings.listen,
    credentials,
    policies: { defaultKeys: settings.defaultTopologyKeys, headless: settings.headless },
    window: { entries: settings.windowEntries, bytes: settings.windowBytes },
    idleViewMs: settings.idleViewSeconds * 1000,
    readyWaitMs: settings.readyWaitSeconds * 1000,
    bookmarkMs: settings.bookmarkSeconds * 1000,
    minWatchMs: MIN_WATCH_MS,
    stallMs: settings.stalledClientSeconds * 1000,
    bounds: settings,
    ...stateOf(settings),
    logger,
  });
  const stopped = new AbortController();
  const stop = (): void => stopped.abort();
  try {
    const admin = await startAdmin({ ...settings.adminListen, proxy, logger });
    logger.info({ listen: proxy.url, admin: admin.url }, 'listening');
    process.once('SIGTERM', stop).once('SIGINT', stop);
    await new Promise<void>((resolve) => {
      stopped.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    logger.info('stopping');
    await admin.close();
  } finally {
    await proxy.close();
    credentials.close();
  }
}

function stateOf(settings: Settings): Pick<NodeProxyOptions, 'state'> {
  if (settings.stateDir === undefined) return {};
  return {
    state: {
      folder: settings.stateDir,
      maxBytes: settings.stateMaxBytes,
      writeBytesPerSecond: settings.stateWriteBytesPerSecond,
      graceMs: settings.stateGraceSeconds * 1000,
    },
  };
}
