import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { WrapperError } from '../../../src/errors.ts';
import { RefusalLog, reasonOf } from '../../../src/server/http/refusal-log.ts';
import { recordingLogger } from '../../support/recording-logger.ts';

let refusals: RefusalLog;
let lines: ReturnType<typeof recordingLogger>['lines'];

beforeEach(() => {
  jest.useFakeTimers();
  const recording = recordingLogger();
  lines = recording.lines;
  refusals = new RefusalLog(recording.logger);
});

afterEach(() => {
  jest.useRealTimers();
});

function refuse(count: number, reason = 'Forbidden', listener = 'listen'): void {
  for (let i = 1; i <= count; i++) {
    const message = `GET /${i} is not allowed`;
    refusals.report({ listener, reason, message, verb: 'GET', resource: `/${i}` });
  }
}

const messages = (): string[] => lines.map(({ msg }) => msg);

// It alarmed people at each planned restart.
test('what each client gets after a restart is logged for debugging, and counted', () => {
  refuse(1, 'Expired');
  expect(lines).toMatchObject([{ level: 20, reason: 'Expired' }]);
  expect(refusals.counter.countOf('listen', 'Expired')).toBe(1);
});

test('the first refusal of a kind is logged with its details', () => {
  refuse(1);
  expect(lines).toMatchObject([
    {
      level: 30,
      listener: 'listen',
      reason: 'Forbidden',
      verb: 'GET',
      resource: '/1',
      msg: 'refused: Forbidden: GET /1 is not allowed',
    },
  ]);
});

test('a hundred thousand more of the same kind are one line a minute, with the last of them', () => {
  refuse(100_001);
  expect(lines).toHaveLength(1);
  jest.advanceTimersByTime(60_000);
  expect(lines.slice(1)).toMatchObject([
    {
      omitted: 99_999,
      resource: '/100001',
      msg: 'refused: Forbidden: GET /100001 is not allowed',
    },
  ]);
  refuse(5);
  expect(lines).toHaveLength(2);
  jest.advanceTimersByTime(60_000);
  expect(lines.slice(2)).toMatchObject([{ omitted: 4 }]);
});

test('after a minute without a refusal the next one is logged in full, and no timer is left', () => {
  refuse(1);
  jest.advanceTimersByTime(60_000);
  expect(jest.getTimerCount()).toBe(0);
  refuse(1);
  expect(messages()).toEqual(Array(2).fill('refused: Forbidden: GET /1 is not allowed'));
});

test('each listener and each reason is a kind', () => {
  refuse(2, 'BadRequest');
  refuse(3);
  refuse(1, 'Forbidden', 'https.listen');
  expect(lines).toHaveLength(3);
  expect([...refusals.counter.counts]).toEqual([
    [2, 'listen', 'BadRequest'],
    [3, 'listen', 'Forbidden'],
    [1, 'https.listen', 'Forbidden'],
  ]);
});

test('text from a client is cut, and cannot control a terminal', () => {
  const evil = `\x1b[2J\x9b1m\u202e\r\n${'x'.repeat(5000)}`;
  refusals.report({
    listener: 'listen',
    reason: 'BadRequest',
    message: evil,
    verb: 'GET',
    resource: evil,
    client: evil,
  });
  const text = JSON.stringify(lines[0]);
  expect(text).toMatch(/^[ -~…]*$/);
  expect(lines[0]?.resource).toMatch(/^\\u001b\[2J\\u009b1m\\u202e\\r\\nx{250,}…$/);
  expect(text.length).toBeLessThan(1500);
});

test('close() logs the refusals that are counted and not logged yet', () => {
  refuse(3);
  refusals.close();
  expect(lines.at(-1)).toMatchObject({ omitted: 1 });
  expect(jest.getTimerCount()).toBe(0);
});

test('a reason that an API server sent is not used: it could be anything', () => {
  const status = { code: 403, reason: 'x'.repeat(1000), message: '' };
  expect(reasonOf(new WrapperError('Refused', 'no', { status }))).toBe('Refused');
  expect(reasonOf(new Error('a bug'))).toBe('InternalError');
});
