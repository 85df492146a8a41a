import { expect, test } from '@jest/globals';
import {
  type DecidedOutcome,
  DecisionJournal,
} from '../../../src/filter/projection/decision-journal.ts';

const CAUSE = { kind: 'policy', subject: '' } as const;
const answer = (id: string, kept: number, mask = kept): DecidedOutcome => ({
  outcome: {
    service: 'default/web',
    kind: 'filtered',
    dryRun: false,
    winners: [id],
    total: 5,
    kept,
    ready: kept,
  },
  id,
  mask,
  since: 0,
});

test('records an answer if other keys win or another number of endpoints is kept', () => {
  const journal = new DecisionJournal();
  const steps: [DecidedOutcome | undefined, DecidedOutcome | undefined, number][] = [
    [undefined, answer('site', 1), 1],
    [answer('site', 1), answer('site', 1), 1],
    [answer('site', 1), answer('site', 2), 2],
    [answer('site', 2), answer('zone', 2), 3],
    [answer('zone', 2), undefined, 4],
    [undefined, undefined, 4],
  ];
  for (const [from, to, count] of steps) {
    journal.add(0, 'default/web', from, to, CAUSE);
    expect(journal.count).toBe(count);
  }
  expect([...journal.after(2)].map(({ number }) => number)).toEqual([3, 4]);
});

test('records that other endpoints are kept, unless the endpoints themselves changed', () => {
  const journal = new DecisionJournal();
  const before = answer('site', 1, 17);
  const after = answer('site', 1, 18);
  journal.add(0, 'default/web', before, after, { kind: 'endpoints', subject: 'default/web-1' });
  expect(journal.count).toBe(0);
  journal.add(0, 'default/web', before, after, { kind: 'own-node', subject: 'site' });
  expect(journal.count).toBe(1);
});

test('drops the oldest changes and no longer returns them', () => {
  const journal = new DecisionJournal();
  for (let kept = 1; kept <= 2_500; kept++) {
    journal.add(kept, 'default/web', answer('site', kept - 1), answer('site', kept), CAUSE);
  }
  const numbers = [...journal.after(0)].map(({ number }) => number);
  expect([numbers.length, numbers[0], numbers.at(-1)]).toEqual([1_000, 1_501, 2_500]);
  expect([...journal.after(2_499)].map(({ at }) => at)).toEqual([2_500]);
  expect([...journal.after(9_999)]).toEqual([]);
});
