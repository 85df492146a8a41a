import type { EventEmitter } from 'node:events';
import type { Logger } from 'pino';

/**
 * Logs warnings of Node.js as JSON instead of text on stderr. Deprecations have level debug: they mostly concern
 * libraries, and an operator cannot do anything about them.
 *
 * @param source default: this process
 */
export function logWarnings(logger: Logger, source: EventEmitter = process): void {
  source.removeAllListeners('warning');
  source.on('warning', ({ name, message, stack }: Error) => {
    const level = name === 'DeprecationWarning' ? 'debug' : 'warn';
    logger[level]({ err: message, stack }, `a warning of Node.js: ${name}`);
  });
}
