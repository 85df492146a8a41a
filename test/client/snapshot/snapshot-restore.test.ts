import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Query } from '../../../src/client/api/query.ts';
import { endOf } from '../../../src/client/api/request-error.ts';
import type { SnapshotFolder } from '../../../src/client/snapshot/snapshot-folder.ts';
import type { StoredState } from '../../../src/client/snapshot/snapshot-format.ts';
import { SnapshotRestore } from '../../../src/client/snapshot/snapshot-restore.ts';
import { ServerState } from '../../../src/client/upstream/server-state.ts';
import { type ErrorCode, WrapperError } from '../../../src/errors.ts';
import { SERVICES } from '../../../src/filter/objects/resource.ts';
import { type LogLine, recordingLogger } from '../../support/recording-logger.ts';

const QUERY: Query = {
  resource: SERVICES,
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
  encoding: 'protobuf',
};

let serverState: ServerState;
/** How often the server in use was given up for another one, and the snapshot was used. */
let counts: { left: number; unreachable: number };
/** Servers that have not been tried. */
let others: number;
/** Address of the server in use. */
let address: string;
/** Since when it is. */
let inUseSince: number;
/** Giving the server up changes it; it may have changed before. */
let isLeft: boolean;
let snapshot: SnapshotRestore;
/** Only relays are tried yet, because this site may be booting. */
let waitsForRelays: boolean;
/** What is on disk at the start. */
let stored: StoredState | undefined;
/** Whether the disk has told so in time. */
let wasRead: boolean;
/** How often a query has reported that nothing is. */
let reports: number;
/** What is read when it is to be shown. */
let newest: Promise<StoredState | undefined>;
/** How often it was shown. */
let shown: number;
/** Why showing it fails. */
let failure: WrapperError | undefined;
let refusals: string[];
let lines: readonly LogLine[];

beforeEach(() => {
  jest.useFakeTimers();
  const recorded = recordingLogger();
  const { logger } = recorded;
  lines = recorded.lines;
  serverState = new ServerState({ logger });
  [counts, others, address, isLeft] = [{ left: 0, unreachable: 0 }, 0, 'first', true];
  [waitsForRelays, stored, wasRead, reports] = [false, undefined, true, 0];
  inUseSince = Number.NEGATIVE_INFINITY;
  failure = undefined;
  [newest, shown, refusals] = [Promise.resolve(undefined), 0, []];
  // Only what is called, so that nothing waits for a disk.
  const folder = {
    graceMs: 1000,
    writer: { open: () => ({ update: () => {}, adopt: () => void shown++ }), closeState: () => {} },
    load: async () => stored,
    wasRead: () => wasRead,
    loadNewest: async (_: unknown, onSlow: () => void) => {
      counts.unreachable++;
      const timer = setTimeout(onSlow, 2_000);
      const stored = await newest;
      clearTimeout(timer);
      return stored;
    },
  } as unknown as SnapshotFolder;
  snapshot = new SnapshotRestore({
    folder,
    query: QUERY,
    upstream: {
      serverState,
      get address() {
        return address;
      },
      get inUseSince() {
        return inUseSince;
      },
      get waitsForRelays() {
        return waitsForRelays;
      },
      reportNoSnapshot: () => void reports++,
      leaveServer: () => {
        if (others === 0) return false;
        others--;
        counts.left++;
        if (isLeft) [address, inUseSince] = [`after ${counts.left}`, performance.now()];
        isLeft = true;
        return true;
      },
    },
    logger,
    restore: () => {
      if (failure !== undefined) throw failure;
      return [];
    },
    onNothing: ({ message }) => void refusals.push(message),
  });
});

afterEach(() => {
  snapshot.close();
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

const fail = (error: WrapperError): void => snapshot.failed(error, endOf(error));

/** What happens; a number: so many milliseconds pass. `fails <code> <status>`, `expect <left> <unreachable>`. */
type Step = string | number;

const EVENTS: Readonly<Record<string, () => void>> = {
  list: () => snapshot.listStarted(),
  arrived: () => snapshot.update([], '1'),
  contact: () => serverState.reportContact(),
  answer: () => serverState.reportAnswer('answered'),
  'given up': () => serverState.giveUp(),
  'there is another server': () => {
    others++;
  },
  'the next server is used': () => {
    [address, isLeft, inUseSince] = ['next', false, performance.now()];
  },
  'fails behind': () => {
    const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
    const status = { code: 504, reason: 'Timeout', message: '', causes };
    fail(new WrapperError('Refused', 'x', { status }));
  },
};

const repeat = (times: number, ...steps: Step[]): Step[] => Array(times).fill(steps).flat();

async function play(steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    const [word, first = '', second] = String(step).split(' ');
    if (typeof step === 'number') await jest.advanceTimersByTimeAsync(step);
    else if (EVENTS[step] !== undefined) EVENTS[step]();
    else if (word === 'expect') {
      expect(counts).toEqual({ left: Number(first), unreachable: Number(second) });
      if (second === '1') expect(serverState.isGivenUp).toBe(true);
    } else {
      const status = second && { status: { code: Number(second), reason: '', message: '' } };
      fail(new WrapperError(first as ErrorCode, 'x', status || {}));
    }
  }
}

describe('the API server is unreachable', () => {
  test.each(['Unreachable', 'Credentials', 'Refused 500', 'Refused 429'])(
    'when every attempt in the grace time failed with %s',
    async (failure) => {
      const attempt = ['list', 1, `fails ${failure}`, 100];
      await play([...repeat(9, ...attempt), 'expect 0 0', ...attempt, 'expect 0 1']);
      await play([...attempt, 'expect 0 1']);
    },
  );

  test.each<[string, Step[]]>([
    [
      'when it has accepted no connection for the grace time',
      ['list', 990, 'expect 0 0', 20, 'expect 0 1'],
    ],
    [
      'when it has accepted a connection and sent nothing for 10 s',
      ['list', 'contact', 1010, 'expect 0 0', 8_890, 'expect 0 0', 200, 'expect 0 1'],
    ],
    [
      'when a response has begun and no byte has come for 10 s',
      ['list', ...repeat(60, 'answer', 900), 'expect 0 0', 9_000, 'expect 0 0', 200, 'expect 0 1'],
    ],
    [
      'only after the grace time of the next server',
      [
        ...['there is another server', 'list', 1010, 'expect 1 0', 'fails Unreachable'],
        ...[...repeat(8, 'list', 'fails Unreachable', 100), 'expect 1 0'],
        ...[...repeat(4, 'list', 'fails Unreachable', 100), 'expect 1 1'],
      ],
    ],
    [
      'only after the time of each server, which has accepted a connection or not',
      [
        ...['there is another server', 'there is another server', 'list', 'contact', 1010],
        ...['expect 1 0', 'fails Unreachable', 'list', 9_000, 'expect 2 0', 'fails Unreachable'],
        ...['list', 990, 'expect 2 0', 20, 'expect 2 1'],
      ],
    ],
    // A relay that was up, for example. It took until the attempt to connect failed.
    [
      'when the next server accepts no connection for the grace time, though the one before did',
      [
        ...['there is another server', 'list', 'contact', 1010, 'expect 1 0', 'fails Unreachable'],
        ...['list', 990, 'expect 1 0', 20, 'expect 1 1'],
      ],
    ],
    [
      'when the first server has refused a connection and the next one accepts one and is silent',
      [
        ...['there is another server', 'list', 'the next server is used', 'fails Unreachable'],
        ...[200, 'list', 'contact', 1010, 'expect 1 0', 9_900, 'expect 1 0', 200, 'expect 1 1'],
      ],
    ],
    [
      'not before the next server has been tried: this is the failure of the server before',
      ['there is another server', 'list', 1010, 'fails Unreachable', 60_000, 'expect 1 0'],
    ],
    [
      'not before, when the next server is used between two attempts',
      ['there is another server', 'list', 'fails Unreachable', 60_000, 'expect 1 0'],
    ],
    [
      'for the next query after one failure, once the first has waited',
      ['given up', 'list', 'expect 0 0', 'fails Unreachable', 200, 'expect 0 1'],
    ],
  ])('%s', async (_, steps) => await play(steps));
});

test('a list that is larger than a limit ends the wait, and the API server does not count as unreachable', () => {
  for (let n = 0; n < 2; n++) {
    snapshot.listStarted();
    fail(new WrapperError('TooLarge', 'x'));
  }
  expect([counts, serverState.isGivenUp]).toEqual([{ left: 0, unreachable: 1 }, false]);
});

// The log advised to raise a limit.
test('a snapshot at which a bug of ours fails is logged as that, with its stack', async () => {
  newest = Promise.resolve({ resourceVersion: '1', savedAt: 0, objects: [] });
  failure = new WrapperError('Internal', 'x', { cause: new TypeError('undefined is no object') });
  await play(['list', 'fails Unreachable', 1010]);
  expect([shown, lines[0]]).toMatchObject([
    0,
    { level: 50, err: { type: 'TypeError' }, msg: expect.stringContaining('a bug of') },
  ]);
});

describe('while relays of a site that boots are waited for', () => {
  test.each([
    ['accepts no connection', ['list', 1010, 'expect 0 1']],
    ['refuses', [...repeat(10, 'list', 100, 'fails Refused 503'), 10, 'expect 0 1']],
    // It keeps the request until it has a list itself.
    ['accepts a connection, and is silent', ['list', 'contact', 1010, 'expect 0 1']],
  ])('the snapshot is shown after the grace time if the relay %s', async (_, steps) => {
    [waitsForRelays, stored] = [true, { resourceVersion: '1', savedAt: 0, objects: [] }];
    await snapshot.load();
    expect(reports).toBe(0);
    await play(steps);
  });

  test('a query without one reports that, and waits for the API server, which is tried soon', async () => {
    waitsForRelays = true;
    await snapshot.load();
    expect(reports).toBe(1);
    await play(['list', 10_000, 'expect 0 0']);
    waitsForRelays = false;
    await play([2_010, 'expect 0 1']);
    expect(reports).toBe(2);
  });

  test('a query whose disk is slow reads it again before it reports that', async () => {
    [waitsForRelays, wasRead] = [true, false];
    await snapshot.load();
    expect(reports).toBe(0);
    await play(['list', 990, 'expect 0 0', 20, 'expect 0 1']);
    expect(reports).toBe(1);
  });
});

test('a disk that is slow is waited for, which is logged after 2 s', async () => {
  waitsForRelays = true;
  stored = { resourceVersion: '1', savedAt: 0, objects: [] };
  const slow = Promise.withResolvers<StoredState | undefined>();
  newest = slow.promise;
  await snapshot.load();
  await play(['list', 1_010, 'expect 0 1', 1_900]);
  expect(lines).toEqual([]);
  // Further attempts change nothing.
  await play(['fails Unreachable', 'list', 100_000]);
  expect(lines).toEqual([
    expect.objectContaining({ msg: expect.stringMatching(/disk is slow: .*stateDir$/) }),
  ]);
  expect([shown, reports, refusals]).toEqual([0, 0, []]);
  slow.resolve(stored);
  await play([1]);
  expect([shown, reports, refusals]).toEqual([1, 0, []]);
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
      [
        ...['there is another server', 'given up', 'list', 100, 'contact'],
        ...[...repeat(4, 900, 'contact'), 'expect 0 0'],
      ],
    ],
    [
      'while it prepares a list on a connection that another query has opened',
      ['contact', 100, 'list', 9_000, 'expect 0 0'],
    ],
    [
      'while it prepares a list on a connection that was quiet before',
      ['answer', 20_000, 'list', 9_000, 'expect 0 0'],
    ],
    [
      'when an attempt begins long after the last answer',
      ['list', 'contact', 'fails Refused 403', 20_000, 'list', 900, 'expect 0 0'],
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
