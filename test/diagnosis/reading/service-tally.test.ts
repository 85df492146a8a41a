import { expect, test } from '@jest/globals';
import { tallyServices } from '../../../src/diagnosis/reading/service-tally.ts';
import type { ServiceOutcome } from '../../../src/topology/state/service-outcome.ts';

function winnersOf(...winners: (readonly string[])[]) {
  const outcomes = winners.map((each, at): ServiceOutcome => {
    const numbers = { total: 1, kept: 1, ready: 1 };
    return { service: `a/${at}`, kind: 'filtered', dryRun: false, winners: each, ...numbers };
  });
  return [...tallyServices({ outcomes: () => outcomes.values() as never }).winners];
}

// With min-ready a tenant makes each port be won by another key. Each set of keys was a value of the metric's label:
// 12 keys had 4,095 of them.
test('Services are counted by the key that won, and those with several keys together', () => {
  const keys = ['site', 'rack', 'room', '*'];
  const sets = Array.from({ length: 16 }, (_, set) => keys.filter((_, at) => (set >> at) & 1));
  expect(winnersOf(...sets, ['site'])).toEqual([
    ['none', 1],
    ['site', 2],
    ['rack', 1],
    ['several', 11],
    ['room', 1],
    ['*', 1],
  ]);
});
