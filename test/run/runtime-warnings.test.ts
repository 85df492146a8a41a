import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import { logWarnings } from '../../src/run/runtime-warnings.ts';
import { recordingLogger } from '../support/recording-logger.ts';

test('warnings of Node.js are logged instead of printed', () => {
  const source = new EventEmitter();
  const printed: Error[] = [];
  source.on('warning', (warning) => printed.push(warning));
  const { logger, lines } = recordingLogger();
  logWarnings(logger, source);
  for (const name of ['MaxListenersExceededWarning', 'DeprecationWarning']) {
    source.emit('warning', Object.assign(new Error('too many'), { name }));
  }
  expect(printed).toEqual([]);
  expect(lines).toMatchObject([
    { level: 40, err: 'too many', msg: expect.stringContaining('MaxListenersExceededWarning') },
    { level: 20, err: 'too many', msg: expect.stringContaining('DeprecationWarning') },
  ]);
});
