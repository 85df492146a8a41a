import { expect, test } from '@jest/globals';
import { causesOf } from '../../../src/diagnosis/reading/causes.ts';
import type { Check } from '../../../src/diagnosis/reading/readiness.ts';

const CURRENT = { state: 'connected', ageSeconds: 0 } as const;
const OLD = {
  state: 'unreachable',
  ageSeconds: 42,
  cause: 'the API server has been unreachable since 12:00',
} as const;

function failed(name: string, problem: string, more: Omit<Check, 'name' | 'problem'> = {}): Check {
  return { name, problem, ...more };
}

// Five failed checks were once counted as five problems, although the API server was the cause of all.
test('old data is one cause, whatever collections it concerns', () => {
  const checks = ['a', 'b', 'c'].map((name) => failed(name, `stale, ${name}`, { nature: 'stale' }));
  expect(causesOf(checks, OLD)).toEqual([
    { check: 'a', nature: 'stale', text: OLD.cause, checks: 3 },
  ]);
});

test('collections that cannot be read for the same reason are one cause, and what waits for them is none', () => {
  const refused = { nature: 'unsynced', detail: 'connect ECONNREFUSED' } as const;
  const checks = [
    failed('own-node', 'the Node has not been read yet', { waitsFor: 'nodes' }),
    failed('nodes', 'not synced yet', refused),
    failed('services', 'not synced yet', refused),
  ];
  expect(causesOf(checks, CURRENT)).toEqual([
    { check: 'nodes', text: 'not synced yet', ...refused, checks: 2 },
  ]);
});

// With an expired certificate, a wrong nodeName was not named. Without one, the views that wait for it were two more.
test('a check that waits for another is no cause while that one fails, whatever else fails', () => {
  const expired = failed('https-certificate', 'not valid', { detail: 'expired at 12:00' });
  const nowhere = failed('own-node', 'there is no Node of this name', { detail: 'edge-9' });
  const waits = failed('slices', 'waits for it', { nature: 'starting', waitsFor: 'own-node' });
  const namesOf = (...checks: Check[]) => causesOf(checks, CURRENT).map(({ check }) => check);
  expect(namesOf(nowhere, waits)).toEqual(['own-node']);
  expect(namesOf(expired, nowhere, waits)).toEqual(['https-certificate', 'own-node']);
  expect(namesOf(expired, { name: 'own-node' }, waits)).toEqual(['https-certificate', 'slices']);
});

test('a right that was taken away is one cause, whatever the paths of the refused collections are', () => {
  const lacks = (path: string) =>
    failed(path, 'the wrapper lacks a right', { nature: 'forbidden', detail: `GET ${path}: 403` });
  expect(causesOf([lacks('/services'), lacks('/nodes')], CURRENT)).toMatchObject([
    { text: 'the wrapper lacks a right', detail: 'GET /services: 403', checks: 2 },
  ]);
});

test('other problems are named with their check, after the cause of most checks', () => {
  const checks = [
    failed('https-certificate', 'not valid', { detail: 'expired' }),
    failed('a', 'stale', { nature: 'stale' }),
    failed('b', 'stale', { nature: 'stale' }),
    { name: 'fine', problem: undefined, remark: 'but slow' },
  ];
  expect(causesOf(checks, OLD)).toEqual([
    { check: 'a', nature: 'stale', text: OLD.cause, checks: 2 },
    {
      check: 'https-certificate',
      nature: undefined,
      text: 'https-certificate: not valid',
      detail: 'expired',
      checks: 1,
    },
  ]);
});

test('a collection that has not been read yet, without an error, only starts', () => {
  const checks = [
    failed('own-node', 'the Node has not been read yet', { waitsFor: 'nodes' }),
    failed('nodes', 'not synced yet', { nature: 'starting' }),
  ];
  expect(causesOf(checks, CURRENT)).toEqual([
    { check: 'nodes', nature: 'starting', text: 'not synced yet', checks: 1 },
  ]);
});
