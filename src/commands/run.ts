import { type Logger, pino } from 'pino';
import { type Admin, startAdmin } from '../admin/admin.ts';
import { readiness } from '../admin/readiness.ts';
import { doorsOf } from '../config/doors.ts';
import { takeListenFds } from '../config/listen-fds.ts';
import { nodeProxyOptions } from '../config/node-proxy-options.ts';
import { loadSettings, type RawSettings } from '../config/settings.ts';
import { assertLoopback } from '../proxy/access-loopback.ts';
import { loadCredentials } from '../proxy/credentials.ts';
import { waitForSuccessor } from '../proxy/handover.ts';
import { type NodeProxy, startNodeProxy } from '../proxy/node-proxy.ts';
import { askPredecessor, awaitLastWords } from './predecessor.ts';
import { trimHeapOnceReady } from './trim-heap.ts';

/** Open connections are answered for so long after SIGTERM, in milliseconds. */
const DRAIN_MS = 1_000;

/**
 * Runs the wrapper until SIGTERM or SIGINT. Rejects, before anything listens, when the settings or the
 * kubeconfig cannot be used.
 */
export async function run(flags: RawSettings, configFile: string | undefined): Promise<void> {
  const settings = loadSettings(flags, process.env, configFile);
  if (settings.listen !== undefined) assertLoopback(settings.listen.host);
  const doors = doorsOf(settings, takeListenFds(process.env, process.pid));
  const logger = pino({ level: settings.logLevel, base: { node: settings.nodeName } });
  const credentials = await loadCredentials({
    ...(settings.kubeconfig === undefined ? {} : { kubeconfig: settings.kubeconfig }),
    logger,
  });
  const ended = new AbortController();
  try {
    const questions = await askPredecessor(settings.adminListen, settings.nodeName);
    const lastWords = questions && awaitLastWords(settings.adminListen, ended.signal);
    const proxy = await startNodeProxy({
      ...nodeProxyOptions(settings),
      ...doors,
      credentials,
      ...(questions && lastWords && { questions, lastWords }),
      drainMs: DRAIN_MS,
      logger,
    });
    await serve(proxy, { doors, handoverMs: settings.handoverSeconds * 1000, logger });
  } finally {
    ended.abort();
    credentials.close();
  }
}

/** Opens the admin port, and serves until a signal ends it; then closes all. */
async function serve(
  proxy: NodeProxy,
  options: {
    readonly doors: ReturnType<typeof doorsOf>;
    readonly handoverMs: number;
    readonly logger: Logger;
  },
): Promise<void> {
  const { doors, handoverMs, logger } = options;
  const ended = new AbortController();
  let admin: Admin | undefined;
  try {
    admin = await startAdmin({ ...doors, address: doors.admin, proxy, logger });
    const { url, httpsUrl } = proxy;
    // Before anybody is told that it listens, for who is told may send a signal at once.
    const stopped = signalled(handoverMs, proxy.doors.addresses, logger);
    logger.info({ listen: url, https: httpsUrl, admin: admin.url }, 'listening');
    const isReady = () => readiness(proxy).every(({ problem }) => problem === undefined);
    void trimHeapOnceReady({ isReady, logger, signal: ended.signal });
    await stopped;
    logger.info('stopping');
  } finally {
    ended.abort();
    // Together: a successor is told over its connection to the admin port how the watches end.
    await Promise.all([admin?.close(), proxy.close()]);
  }
}

/**
 * Resolves at SIGINT; at SIGTERM when another process listens at these addresses too, or time is up: whoever
 * replaces this one may send the signal before the next one can take over.
 */
async function signalled(
  handoverMs: number,
  addresses: Parameters<typeof waitForSuccessor>[0],
  logger: Logger,
): Promise<void> {
  const interrupted = new AbortController();
  const terminated = new Promise<void>((resolve) => {
    process.once('SIGTERM', () => {
      // A second one does not wait.
      process.once('SIGTERM', () => interrupted.abort());
      resolve();
    });
    process.once('SIGINT', () => {
      interrupted.abort();
      resolve();
    });
  });
  await terminated;
  if (handoverMs === 0 || interrupted.signal.aborted) return;
  logger.info({ handoverMs }, 'stopping when the next process listens');
  await waitForSuccessor(addresses, handoverMs, interrupted.signal);
}
