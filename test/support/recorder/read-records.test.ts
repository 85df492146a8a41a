import { expect, test } from '@jest/globals';
import { toClientRecords } from './read-records.ts';
import type { TimedRecord } from './written-record.ts';

/** Two processes: the first was killed when the second began, which took half a second to listen. */
const ENDED = 1_795_302_605_189;
const GENERATIONS = [
  { log: 'first', start: 1_795_302_595_943, end: ENDED },
  { log: 'second', start: ENDED, end: undefined },
];
const VERSIONS = { first: '292259617503', second: '292260561105' };

const watch = (from: string, answered: number): TimedRecord => ({
  kind: 'watch',
  from,
  answered,
  at: answered,
});
const bookmark = (version: string, answered: number): TimedRecord => ({
  kind: 'bookmark',
  version,
  answered,
  at: answered,
});

/** The process that is assumed to have answered. */
function logOf(...records: TimedRecord[]): unknown {
  const [first] = toClientRecords(records, GENERATIONS);
  return first !== undefined && 'log' in first ? first.log : undefined;
}

test('an answer that is read after the next process has begun belongs to the process that gave it', () => {
  const late = ENDED + 178;
  const { first, second } = VERSIONS;
  expect(logOf(watch(first, late), bookmark('297259617503', late))).toBe('first');
  expect(logOf(watch(first, late))).toBe('first');
  expect(logOf(watch(first, late), bookmark(second, late))).toBe('second');
});

test('an answer long after the end of a process does not belong to it', () => {
  const { first } = VERSIONS;
  expect(logOf(watch(first, ENDED + 5_000))).toBe('second');
});
