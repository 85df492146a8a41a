import { expect, test } from '@jest/globals';
import { causesOf } from '../../../src/diagnosis/reading/causes.ts';
import type { Check } from '../../../src/diagnosis/reading/readiness.ts';

const CURRENT = { state: 'connected', ageSeconds: 0 } as const;
const OLD = {
  state: 'unreachable',
  ageSeconds: 42,
  cause: 'the API server has been unreachable since 12:00',
} as const;

function failed(name: string, problem: string, nature?: Check['nature']): Check {
  return { name, problem, nature };
}

// Five failed checks were once counted as five problems, although the API server was the cause of all.
test('old data is one cause, whatever collections it concerns', () => {
  const checks = ['a', 'b', 'c'].map((name) => failed(name, `stale, ${name}`, 'stale'));
  expect(causesOf(checks, OLD)).toEqual([
    { check: 'a', nature: 'stale', text: OLD.cause, checks: 3 },
  ]);
});

test('collections that cannot be read for the same reason are one cause, and what waits for them is none', () => {
  const unsynced = 'not synced yet: connect ECONNREFUSED';
  const checks = [
    failed('own-node', 'there is no Node', 'waits'),
    failed('nodes', unsynced, 'unsynced'),
    failed('services', unsynced, 'unsynced'),
  ];
  expect(causesOf(checks, CURRENT)).toEqual([
    { check: 'nodes', nature: 'unsynced', text: unsynced, checks: 2 },
  ]);
});

test('a check that waits is named if nothing else fails', () => {
  expect(causesOf([failed('own-node', 'there is no Node', 'waits')], CURRENT)).toEqual([
    { check: 'own-node', nature: 'waits', text: 'own-node: there is no Node', checks: 1 },
  ]);
});

test('other problems are named with their check, after the cause of most checks', () => {
  const checks = [
    failed('https-certificate', 'has expired'),
    failed('a', 'stale', 'stale'),
    failed('b', 'stale', 'stale'),
    { name: 'fine', problem: undefined, remark: 'but slow' },
  ];
  expect(causesOf(checks, OLD)).toEqual([
    { check: 'a', nature: 'stale', text: OLD.cause, checks: 2 },
    {
      check: 'https-certificate',
      nature: undefined,
      text: 'https-certificate: has expired',
      checks: 1,
    },
  ]);
});

test('a collection that has not been read yet, without an error, only starts', () => {
  const checks = [
    failed('own-node', 'there is no Node', 'waits'),
    failed('nodes', 'not synced yet', 'starting'),
  ];
  expect(causesOf(checks, CURRENT)).toEqual([
    { check: 'nodes', nature: 'starting', text: 'not synced yet', checks: 1 },
  ]);
});
