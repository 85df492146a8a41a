import { beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { WrapperError } from '../../../src/errors.ts';
import { ServerState } from '../../../src/proxy/upstream/server-state.ts';
import { ManualClock } from '../../support/projection/topology.ts';

let clock: ManualClock;
let state: ServerState;
/** What isCutOff was at each notification. */
let notified: boolean[];

beforeEach(() => {
  clock = new ManualClock();
  state = new ServerState({ logger: pino({ level: 'silent' }), clock });
  notified = [];
  state.onChange(() => notified.push(state.isCutOff));
});

const error = new WrapperError('Unreachable', 'no answer');

describe('isCutOff', () => {
  test.each(['unreachable', 'misbehaving'] as const)(
    'begins when the API server is %s, and ends with an answer',
    (failure) => {
      expect(state.isCutOff).toBe(false);
      state.noteFailure(failure, error, 0);
      clock.pass(1_000);
      state.noteAnswer(200);
      expect(notified).toEqual([true, false]);
    },
  );

  test('an API server that rejects our credentials answers', () => {
    state.noteFailure('refusing', error, 0);
    expect(state.isCutOff).toBe(false);
  });

  test('begins at the start when the first requests hang, and is notified once', () => {
    state.giveUp();
    state.giveUp();
    state.noteAnswer(200);
    expect(notified).toEqual([true, false]);
  });

  test('does not begin when one query gives up while others are answered', () => {
    state.noteAnswer(200);
    state.giveUp();
    expect(state.isCutOff).toBe(false);
  });
});
