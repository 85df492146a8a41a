import { beforeEach, describe, expect, test } from '@jest/globals';
import type { RequestEnd } from '../../../src/client/api/request-end.ts';
import { ServerState } from '../../../src/client/upstream/server-state.ts';
import { WrapperError } from '../../../src/errors.ts';
import { ManualClock } from '../../support/clocks.ts';
import { type LogLine, recordingLogger } from '../../support/recording-logger.ts';

let clock: ManualClock;
let state: ServerState;
let lines: readonly LogLine[];
let changes: string[];

beforeEach(() => {
  clock = new ManualClock();
  const recorded = recordingLogger();
  lines = recorded.lines;
  state = new ServerState({ logger: recorded.logger, clock, random: () => 0.5 });
  changes = [];
  state.onChange(() => changes.push(`${state.condition.name}${state.isCutOff ? ', cut off' : ''}`));
});

const gone = new WrapperError('Unreachable', 'gone');
const signal = new AbortController().signal;

/** Fails a request that is sent now. */
function fail(end: RequestEnd = 'unreachable'): boolean {
  clock.pass(1);
  return state.reportFailure(end, gone, clock.now());
}

/** Fails a request to a relay, which the log then has, and lets the next server answer. */
function fromRelay() {
  clock.pass(1);
  const error = new WrapperError('Unreachable', 'a relay is gone', { isRelay: true });
  expect(state.reportFailure('unreachable', error, clock.now())).toBe(true);
  expect(state.isCutOff).toBe(true);
  state.reportAnswer('answered');
  return { log: [...lines] };
}

/** The numbers of the waiting queries, in the order in which they were released. */
function waiting(count: number): number[] {
  const released: number[] = [];
  for (let n = 0; n < count; n++) void state.untilAttempt(signal).then(() => released.push(n));
  return released;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('the API server', () => {
  test('has shown no sign of itself with bytes alone, which a gateway may have sent', () => {
    state.reportContact();
    const contact = clock.now();
    clock.pass(1);
    state.reportBytes();
    expect([state.lastContactAt, state.lastByteAt]).toEqual([contact, contact + 1]);
    clock.pass(1);
    state.reportContact();
    expect([state.lastContactAt, state.lastByteAt]).toEqual([contact + 2, contact + 2]);
  });

  test('is unreachable since the first failure, until a usable response', () => {
    expect([state.condition.name, state.unreachableSince]).toEqual(['unknown', undefined]);
    expect(fail()).toBe(true);
    const since = state.unreachableSince;
    clock.pass(5_000);
    fail('serverError');
    expect([state.condition.name, state.unreachableSince]).toEqual(['misbehaving', since]);
    state.reportAnswer('answered');
    expect([state.condition.name, state.unreachableSince]).toEqual(['reachable', undefined]);
    expect(changes).toEqual(['unreachable, cut off', 'misbehaving, cut off', 'reachable']);
    // At the start there is no state to serve.
    expect(lines[0]?.msg).toContain(': the last known state, if there is one, is served');
    expect(lines.map(({ msg }) => msg.split(':')[0])).toEqual([
      'the API server is unreachable',
      'the API server answers with errors',
      'the API server answers again',
    ]);
  });

  test('is not reachable because it rejects our credentials', () => {
    fail();
    state.reportAnswer('unauthorized');
    expect([state.condition.name, state.answered]).toEqual(['unreachable', true]);
  });

  test('is not unreachable while a watch is open, or when it has answered since the request was sent', () => {
    const ended = state.watchOpened();
    expect(fail()).toBe(false);
    ended();
    ended();
    const sentAt = clock.now();
    state.reportAnswer('answered');
    expect(state.reportFailure('unreachable', gone, sentAt)).toBe(false);
    expect(fail()).toBe(true);
  });

  // The connection of all is lost: whether the watch or the request is the first to notice is chance.
  test.each([
    ['before', false],
    ['after', true],
  ])(
    'is not unreachable when a request fails that was sent %s the last bytes of a watch that has ended: %j',
    (order, counts) => {
      const ended = state.watchOpened();
      const steps = [() => clock.now(), () => state.reportContact()];
      if (order === 'after') steps.reverse();
      const [sentAt = 0] = steps
        .map((step) => {
          clock.pass(1);
          return step();
        })
        .filter((at) => at !== undefined);
      clock.pass(1);
      expect(state.reportFailure('unreachable', gone, sentAt)).toBe(false);
      ended();
      expect(state.reportFailure('unreachable', gone, sentAt)).toBe(counts);
    },
  );

  test.each(['cut', 'overloaded', 'forbidden', 'malformed'] as const)(
    'is not unreachable because a request of one query ends as %s',
    (end) => {
      expect([fail(end), changes]).toEqual([false, []]);
    },
  );

  // The log called a relay the API server, which "answered again" 18 ms later.
  test('is not called unreachable in the log when only a relay is', () => {
    const { log } = fromRelay();
    clock.pass(5_000);
    fail();
    fail();
    state.reportAnswer('answered');
    fromRelay();
    expect([log, lines.map(({ msg }) => msg.split(':')[0])]).toEqual([
      [],
      ['the API server is unreachable', 'the API server answers again'],
    ]);
  });

  test('is as unreachable as before when a collection may be absent', () => {
    expect([fail('mayBeAbsent'), fail('foreign'), fail('mayBeAbsent')]).toEqual([
      false,
      true,
      true,
    ]);
    expect(changes).toEqual(['unreachable, cut off']);
  });

  test('that rejects our credentials answers', () => {
    fail('unauthorized');
    expect(changes).toEqual(['refusing']);
  });

  test('is cut off at the start when the first requests hang, which is notified once', () => {
    state.giveUp();
    state.giveUp();
    state.reportAnswer('answered');
    expect(changes).toEqual(['unknown, cut off', 'reachable']);
  });

  test('is not cut off when one query gives up while others are answered', () => {
    state.reportAnswer('answered');
    state.giveUp();
    expect(state.isCutOff).toBe(false);
  });

  test('notifies no listener that has ended its subscription', () => {
    let calls = 0;
    const end = state.onChange(() => calls++);
    fail();
    end();
    state.reportAnswer('answered');
    expect(calls).toBe(1);
  });
});

describe('queries that wait for the API server', () => {
  test('try one after another, and all follow the first that is answered', async () => {
    fail();
    const released = waiting(4);
    clock.pass(150);
    await settled();
    expect(released).toEqual([0]);
    clock.pass(375);
    await settled();
    expect(released).toEqual([0, 1]);
    state.reportAnswer('answered');
    clock.pass(250);
    await settled();
    expect(released).toEqual([0, 1, 2, 3]);
    expect(clock.waiting).toBe(0);
  });

  test('do not wait while it is reachable', async () => {
    state.reportAnswer('answered');
    await expect(state.untilAttempt(signal)).resolves.toBeUndefined();
  });

  test('lose their turn when they end, and the next one gets it', async () => {
    fail();
    const controller = new AbortController();
    const ended = state.untilAttempt(controller.signal);
    const released = waiting(1);
    controller.abort(new Error('ended'));
    await expect(ended).rejects.toThrow('ended');
    clock.pass(150);
    await settled();
    expect(released).toEqual([0]);
  });
});
