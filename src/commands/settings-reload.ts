import type { Logger } from 'pino';
import { nodeProxyOptions } from '../config/node-proxy-options.ts';
import { compareSettings } from '../config/reload.ts';
import type { Settings } from '../config/settings.ts';
import { WrapperError } from '../errors.ts';
import type { NodeProxy } from '../proxy/node-proxy.ts';
import type { ChildLoggers } from './child-loggers.ts';

export interface SettingsReloadOptions {
  /** The settings of the start. */
  readonly settings: Settings;
  /** Reads them again. Throws `InvalidSettings`. */
  readonly read: () => Settings;
  readonly proxy: Pick<NodeProxy, 'changePolicies' | 'settings'>;
  readonly logger: Logger;
  readonly children: ChildLoggers;
}

/**
 * Returns a function that reads the settings again and applies those that a running process can take over. It never
 * throws: if they are invalid, the previous ones remain in use, which the log, /readyz and a metric report.
 */
export function createSettingsReload(options: SettingsReloadOptions): () => void {
  const { read, proxy, logger, children } = options;
  let current = options.settings;
  return () => {
    try {
      const { reloaded, needRestart, next } = compareSettings(current, read());
      current = next;
      proxy.settings.problem = undefined;
      children.setLevel(logger, next.logLevel);
      proxy.changePolicies(nodeProxyOptions(next).policies);
      logger.info({ reloaded }, 'the settings are read again');
      if (needRestart.length === 0) return;
      logger.warn({ needRestart }, 'settings have changed that take effect only after a restart');
    } catch (error) {
      const { message: err } = WrapperError.from(error, 'InvalidSettings');
      proxy.settings.problem = err;
      logger.error(
        { err },
        'the settings cannot be used; the previous ones remain in use; correct them and send SIGHUP again',
      );
    }
  };
}
