import { expect, test } from '@jest/globals';
import type { DecisionChange } from '../../../src/filter/projection/decision-journal.ts';
import { DecisionLog } from '../../../src/node/views/decision-log.ts';
import { ManualClock } from '../../support/clocks.ts';
import { recordingLogger } from '../../support/recording-logger.ts';

function setUp() {
  const { logger, lines } = recordingLogger();
  const clock = new ManualClock();
  return { lines, clock, log: new DecisionLog(logger, clock) };
}

const OUTCOME = {
  service: 'default/web',
  kind: 'filtered',
  dryRun: false,
  total: 3,
  ready: 1,
} as const;

function change(number: number): DecisionChange {
  return {
    number,
    at: 0,
    service: `default/s${number}`,
    from: { outcome: { ...OUTCOME, winners: ['site'], kept: 1 }, id: '0', mask: 1, since: 0 },
    to: { outcome: { ...OUTCOME, winners: ['*'], kept: 3 }, id: '1', mask: 2, since: 0 },
    cause: { kind: 'nodes', subject: 'edge-2' },
  };
}

test('a changed decision is a line with both keys, both counts and the cause', () => {
  const { lines, log } = setUp();
  log.add({}, change(1));
  expect(lines).toMatchObject([
    {
      level: 30,
      service: 'default/s1',
      from: 'site',
      to: '*',
      keptBefore: 1,
      keptAfter: 3,
      cause: 'nodes',
      subject: 'edge-2',
      msg: 'the decision about a Service changed',
    },
  ]);
});

test('no minute has more than 6 lines of a Namespace, and what waits is written before the process ends', () => {
  const { lines, log, clock } = setUp();
  const view = {};
  for (let second = 0; second < 60; second++) {
    log.add(view, change(second));
    clock.pass(1_000);
  }
  expect(lines).toHaveLength(6);
  for (const number of [60, 61]) log.add(view, change(number));
  log.close();
  expect(lines.at(-1)).toMatchObject({ service: 'default/s61' });
});

test('of several views that decide the same one is logged, until it closes', () => {
  const { lines, log } = setUp();
  const [first, second] = [{}, {}];
  for (const view of [first, second]) log.add(view, change(1));
  expect(lines).toHaveLength(1);
  log.release(second);
  log.add(second, change(2));
  expect(lines).toHaveLength(1);
  log.release(first);
  log.add(second, change(3));
  expect(lines).toHaveLength(2);
});
