import type { EventEmitter } from 'node:events';
import type { Logger } from 'pino';

/**
 * Puts warnings of Node.js into the log, in place of lines on stderr that are no JSON. What is deprecated, in a library
 * mostly, works and is nothing for an operator.
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
