import { once } from 'node:events';
import { type Logger, pino } from 'pino';
import { type Admin, startAdmin } from '../admin/admin.ts';
import { type Credentials, loadCredentials } from '../client/credentials/credentials.ts';
import { listenersOptions } from '../config/listener-options.ts';
import { nodeProxyOptions, relayWait } from '../config/node-proxy-options.ts';
import { assertNoInheritedSockets } from '../config/removed-settings.ts';
import { type RawSettings, readSettings, type Settings } from '../config/settings.ts';
import { isReady } from '../diagnosis/reading/health.ts';
import { assertLoopback } from '../server/auth/loopback-access.ts';
import { waitForNextProcess, warnOfSharedPort } from '../server/hot-restart/hot-restart.ts';
import { type NodeProxy, startNodeProxy } from '../server/node-proxy.ts';
import { abortable } from '../util/linked-abort-controller.ts';
import { forceExit } from './force-exit.ts';
import { createLogDestination, LOG_OPTIONS, type LogDestination } from './log-destination.ts';
import { createLastProcessFlush, readOpenViews } from './running-process.ts';
import { logWarnings } from './runtime-warnings.ts';
import { logStart, logWhenReady, warnOfDeprecated } from './start-log.ts';
import { listenForSignals, type StopSignals } from './stop-signals.ts';
import { trimHeapAfterLists } from './trim-heap.ts';

/*
 * The room `run`: the life of the process. It puts the wrapper together from settings, and decides nothing about
 * endpoints.
 *   run.ts, stop-signals.ts, force-exit.ts                start and end
 *   run-relay.ts                                          the same for a relay
 *   running-process.ts                                    the process before this one, in a planned restart
 *   log-destination.ts, runtime-warnings.ts,              what is logged
 *   start-log.ts
 *   trim-heap.ts, poll-until.ts                           what happens once all is ready
 */

/** Time to answer open requests after SIGTERM, in milliseconds. */
export const DRAIN_MS = 1_000;

/**
 * Runs the wrapper until SIGTERM or SIGINT. Rejects before it listens if the settings or the kubeconfig cannot be
 * used.
 *
 * @param start what is run; default: the wrapper
 */
export async function run(
  flags: RawSettings,
  configFile: string | undefined,
  start = startWrapper,
): Promise<void> {
  const signals = listenForSignals();
  const { settings, changed } = readSettings(flags, process.env, configFile);
  if (settings.listen !== undefined) assertLoopback(settings.listen.host);
  assertNoInheritedSockets(process.env, process.pid);
  const listeners = listenersOptions(settings);
  const base = { node: settings.nodeName };
  const options = { ...LOG_OPTIONS, level: settings.logLevel, base };
  const log = createLogDestination();
  const logger = pino(options, log.stream);
  logWarnings(logger);
  // Many daemons read their settings again at SIGHUP. This one must not end at it, which is the default.
  process.on('SIGHUP', () =>
    logger.warn('SIGHUP is ignored: settings are read at the start; restart the process instead'),
  );
  logStart(logger, changed);
  try {
    const reading = loadCredentials({ kubeconfig: settings.kubeconfig, logger });
    const credentials = await abortable(reading, signals.stop);
    try {
      await start({ settings, listeners, credentials, signals, logger, log });
    } finally {
      credentials.close();
    }
  } catch (error) {
    if (error !== signals.stop.reason) throw error;
    logger.info('stopping');
  } finally {
    forceExit();
  }
}

export interface RunOptions {
  readonly settings: Settings;
  readonly listeners: ReturnType<typeof listenersOptions>;
  readonly credentials: Credentials;
  readonly signals: StopSignals;
  readonly logger: Logger;
  readonly log: LogDestination;
}

/** Runs until a signal. Rejects with the reason of the signal if it arrives before the wrapper listens. */
async function startWrapper(options: RunOptions): Promise<void> {
  const { settings, listeners, credentials, signals, logger } = options;
  const { admin } = listeners;
  warnOfDeprecated(logger, settings);
  const listening = new AbortController();
  const flush = { logger, listening: listening.signal, stop: signals.stop };
  const flushLastProcess = createLastProcessFlush(admin, flush);
  const queries = await readOpenViews(admin, settings.nodeName);
  const proxy = await startNodeProxy({
    ...nodeProxyOptions(settings),
    ...listeners,
    credentials,
    queries,
    // Another process serves this node meanwhile: it has not booted.
    relayWaitMs: queries === undefined ? relayWait(settings) : undefined,
    flushLastProcess,
    drainMs: DRAIN_MS,
    signal: signals.stop,
    logger,
  });
  listening.abort();
  await serve(proxy, options);
}

/** Opens the admin port and serves until a signal. Then closes everything. */
async function serve(proxy: NodeProxy, options: RunOptions): Promise<void> {
  const { settings, listeners, signals, logger, log } = options;
  const ended = new AbortController();
  let admin: Admin | undefined;
  try {
    admin = await startAdmin({
      ...listeners,
      address: listeners.admin,
      proxy,
      logger,
      log,
    });
    const { url, httpsUrl } = proxy;
    const apiServer = proxy.upstream.address;
    logger.info({ listen: url, https: httpsUrl, admin: admin.url, apiServer }, 'listening');
    // Before a client watches, the views that it will read may not exist.
    const isRead = () => proxy.listeners.watches > 0 && isReady(proxy);
    const { signal } = ended;
    const { views } = proxy;
    void trimHeapAfterLists({ isReady: isRead, views, logger, signal });
    logWhenReady({ proxy, logger, signal }).catch(() => {});
    void warnOfSharedPort(proxy.listeners.addresses, logger, signal);
    await untilStopped(signals, settings.handoverSeconds * 1000, proxy.listeners.addresses, logger);
    logger.info('stopping');
  } finally {
    ended.abort();
    await proxy.close();
    // Last: once it has closed, the next process reads the snapshots, and nothing newer was shown.
    await admin?.close();
  }
}

/**
 * Resolves at SIGINT. At SIGTERM it waits until another process listens at the same addresses, at most `handoverMs`:
 * an orchestrator may send SIGTERM before the next process is ready.
 */
export async function untilStopped(
  { stop, now }: StopSignals,
  handoverMs: number,
  addresses: Parameters<typeof waitForNextProcess>[0],
  logger: Logger,
): Promise<void> {
  if (!stop.aborted) await once(stop, 'abort');
  if (handoverMs === 0 || now.aborted) return;
  logger.info({ handoverMs }, 'stopping when the next process listens');
  await waitForNextProcess(addresses, handoverMs, now);
}
