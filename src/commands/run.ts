import { pino } from 'pino';
import { startAdmin } from '../admin/admin.ts';
import { nodeProxyOptions } from '../config/node-proxy-options.ts';
import { loadSettings, type RawSettings } from '../config/settings.ts';
import { loadCredentials } from '../proxy/credentials.ts';
import { assertLoopback } from '../proxy/listener.ts';
import { startNodeProxy } from '../proxy/node-proxy.ts';

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
  const proxy = await startNodeProxy({ ...nodeProxyOptions(settings), credentials, logger });
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
