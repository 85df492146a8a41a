import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { formatLogLine } from '../../src/commands/format-log-line.ts';
import { LOG_OPTIONS } from '../../src/commands/log-destination.ts';

/** The lines that a logger like that of `run` writes, as text. */
function lines(write: (logger: ReturnType<typeof pino>) => void): string[] {
  const found: string[] = [];
  const options = { ...LOG_OPTIONS, base: { node: 'edge-1' } };
  write(pino(options, { write: (line) => found.push(formatLogLine(line)) }));
  return found;
}

const TIME = '20\\d\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z';

test.each<[string, (logger: ReturnType<typeof pino>) => void, string]>([
  ['the message', (logger) => logger.info('stopping'), 'INFO  stopping'],
  [
    'fields after the message',
    (logger) => logger.warn({ views: 3, ok: true, node: 'edge-1' }, 'a view is closed'),
    'WARN  a view is closed  views=3  ok=true',
  ],
  [
    'lists with commas, and quotes where they are needed',
    (logger) => logger.info({ keys: ['a', 'b'], names: ['x y'], why: 'two words', none: [] }, 'm'),
    'INFO  m  keys=a,b  names=["x y"]  why="two words"  none=[]',
  ],
  [
    'an error at the end',
    (logger) => logger.error({ err: 'no such file', file: '/x' }, 'cannot read'),
    'ERROR cannot read  file=/x  err="no such file"',
  ],
])('a line of text has %s', (_, write, text) => {
  const [line] = lines(write);
  const escaped = text.replace(/[[\]]/g, '\\$&');
  expect(line).toMatch(new RegExp(`^${TIME} ${escaped}\\n$`));
});

test('an error object is written with its stack, in one line', () => {
  const [line = ''] = lines((logger) => logger.error({ err: new Error('broken') }, 'failed'));
  expect(line).toMatch(/err="Error: broken\\n +at /);
  expect(line.trimEnd()).not.toContain('\n');
});

test('text that a tenant wrote cannot forge a line or control the terminal', () => {
  const [line = ''] = lines((logger) => logger.info({ name: 'a\n2026 \u001b[2J' }, 'x\u009b'));
  for (const unsafe of ['\n', '\u001b', '\u009b']) expect(line.trimEnd()).not.toContain(unsafe);
});
