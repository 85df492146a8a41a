import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type ErrorCode, WrapperError } from '../../../src/errors.ts';
import { SnapshotFallback } from '../../../src/proxy/snapshot/snapshot-fallback.ts';
import { ServerState } from '../../../src/proxy/upstream/server-state.ts';
import { captureLogger } from '../../support/http/logger.ts';

let serverState: ServerState;
let counts: { searches: number; unreachable: number };
/** What a search finds. */
let found: boolean | Promise<boolean>;
let endSearch: (found: boolean) => void;
let fallback: SnapshotFallback;

beforeEach(() => {
  jest.useFakeTimers();
  serverState = new ServerState({ logger: captureLogger().logger });
  [counts, found] = [{ searches: 0, unreachable: 0 }, false];
  fallback = new SnapshotFallback({
    serverState,
    graceMs: 1000,
    search: async () => {
      counts.searches++;
      return await found;
    },
    onUnusable: () => counts.unreachable++,
  });
});

afterEach(() => {
  fallback.end();
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

/** What happens; a number: so many milliseconds pass. `fails <code> <status>`, `expect <searches> <unreachable>`. */
type Step = string | number;

const EVENTS: Readonly<Record<string, () => void>> = {
  list: () => fallback.listStarted(),
  arrived: () => fallback.end(),
  contact: () => serverState.noteContact(),
  answer: () => serverState.noteAnswer(200),
  'given up': () => serverState.giveUp(),
  'another server answers': () => {
    found = true;
  },
  'the search hangs': () => {
    found = new Promise((resolve) => {
      endSearch = resolve;
    });
  },
  'the search ends': () => endSearch(false),
  'fails behind': () => {
    const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
    const status = { code: 504, reason: 'Timeout', message: '', causes };
    fallback.failed(new WrapperError('Refused', 'x', { status }));
  },
};

const repeat = (times: number, ...steps: Step[]): Step[] => Array(times).fill(steps).flat();

async function play(steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    const [word, first = '', second] = String(step).split(' ');
    if (typeof step === 'number') await jest.advanceTimersByTimeAsync(step);
    else if (EVENTS[step] !== undefined) EVENTS[step]();
    else if (word === 'expect') {
      expect(counts).toEqual({ searches: Number(first), unreachable: Number(second) });
      if (second === '1') expect(serverState.isGivenUp).toBe(true);
    } else {
      const status = second && { status: { code: Number(second), reason: '', message: '' } };
      fallback.failed(new WrapperError(first as ErrorCode, 'x', status || {}));
    }
  }
}

describe('the API server is unreachable', () => {
  test.each(['Unreachable', 'Credentials', 'Refused 500', 'Refused 429'])(
    'when every attempt in the grace time failed with %s',
    async (failure) => {
      const attempt = ['list', 1, `fails ${failure}`, 100];
      await play([...repeat(9, ...attempt), 'expect 0 0', ...attempt, 'expect 1 1']);
      await play([...attempt, 'expect 1 1']);
    },
  );

  test.each<[string, Step[]]>([
    [
      'when it has accepted no connection for the grace time',
      ['list', 990, 'expect 0 0', 20, 'expect 1 1'],
    ],
    [
      'when it has accepted a connection and sent nothing for 10 s; the search begins sooner',
      ['list', 'contact', 1010, 'expect 1 0', 8_890, 'expect 1 0', 200, 'expect 1 1'],
    ],
    [
      'when a response has begun and no byte has come for 10 s',
      ['list', ...repeat(60, 'answer', 900), 'expect 0 0', 9_000, 'expect 1 0', 200, 'expect 1 1'],
    ],
    [
      'only after two searches, when the servers that were found fail as well',
      [
        ...['another server answers', 'list', 1010, 'expect 1 0'],
        ...[...repeat(40, 'fails Unreachable', 100, 'list'), 'expect 2 1'],
      ],
    ],
    [
      'not before the server that was found has been tried: this is the failure of the server before',
      ['another server answers', 'list', 1010, 'fails Unreachable', 60_000, 'expect 1 0'],
    ],
    [
      'not before, when the server was found between two attempts',
      ['another server answers', 'list', 'fails Unreachable', 60_000, 'expect 1 0'],
    ],
    [
      'after one search, whatever happens while it lasts',
      [
        ...['the search hangs', 'list', 1010, 'fails Unreachable', 'list', 5_000, 'expect 1 0'],
        ...['the search ends', 0, 'expect 1 1'],
      ],
    ],
    [
      'for the next query after one failure, once the first has waited',
      ['given up', 'list', 'expect 0 0', 'fails Unreachable', 200, 'expect 1 1'],
    ],
  ])('%s', async (_, steps) => await play(steps));
});

test('a list that is larger than a limit ends the wait, and the API server does not count as unreachable', () => {
  fallback.listStarted();
  fallback.failed(new WrapperError('TooLarge', 'x'));
  fallback.listStarted();
  fallback.failed(new WrapperError('TooLarge', 'x'));
  expect([counts, serverState.isGivenUp]).toEqual([{ searches: 0, unreachable: 1 }, false]);
});

describe('the API server is reachable', () => {
  test.each(['Refused 401', 'Refused 403', 'Refused 404', 'Refused 410', 'behind', 'Malformed'])(
    'when every attempt fails with %s',
    async (failure) => {
      await play([...repeat(50, 'list', `fails ${failure}`, 1000), 'expect 0 0']);
    },
  );

  test.each<[string, Step[]]>([
    [
      'again for later queries, once it has answered any',
      ['given up', 'answer', 'list', 'fails Unreachable', 200, 'expect 0 0'],
    ],
    [
      'while a list arrives slowly, though other queries have given up',
      ['given up', 'list', 100, 'contact', ...repeat(4, 900, 'contact'), 'expect 0 0'],
    ],
    [
      'when the list has arrived, whatever fails later',
      [
        ...['list', 'fails Unreachable', 'list', 'arrived', 60_000],
        ...['fails Unreachable', 60_000, 'expect 0 0'],
      ],
    ],
  ])('%s', async (_, steps) => await play(steps));
});
