import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { QueryState } from '../../../src/client/snapshot/query-state.ts';
import type { StoredState } from '../../../src/client/snapshot/snapshot-format.ts';
import { SnapshotWriter } from '../../../src/client/snapshot/snapshot-writer.ts';
import type { Change } from '../../../src/filter/objects/change.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const QUERY = 'protobuf /api/v1/services';
const STATE_BYTES = 100_000;

let saved: StoredState[];
let isBroken: boolean;
let writer: SnapshotWriter;
let state: QueryState;

/** Each write takes a tenth of a second. */
function start(quietMs: number, unrestMs: number, writeBytesPerSecond = 1e12): void {
  saved = [];
  isBroken = false;
  writer = new SnapshotWriter({
    async save(state) {
      const taken = state.take();
      await new Promise((resolve) => setTimeout(resolve, 100));
      if (isBroken) return undefined;
      saved.push(taken);
      return STATE_BYTES;
    },
    quietMs,
    unrestMs,
    writeBytesPerSecond,
  });
  state = writer.open(QUERY);
}

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
const versions = () => saved.map(({ resourceVersion }) => resourceVersion);

function added(key: string): Change {
  const facts = { name: key, namespace: '', uid: key, resourceVersion: '1' };
  return { type: 'ADDED', key, facts, object: Buffer.from(key) };
}

test.each([
  ['after a quiet time, with the objects that are left', 60_000, ['19']],
  ['during continuous changes after the longer time, and not more often', 400, ['7', '15', '19']],
])('a state is written %s', async (_, unrestMs, expected) => {
  start(200, unrestMs);
  for (let n = 0; n < 20; n++) {
    state.update([n < 19 ? added(`web-${n % 3}`) : { type: 'DELETED', key: 'web-0' }], `${n}`);
    await pass(50);
  }
  await pass(10_000);
  expect(versions()).toEqual(expected);
  expect(saved.at(-1)?.objects.map(String)).toEqual(['web-1', 'web-2']);
});

test('no more is written than so many bytes a second, except at the end, and nothing after that', async () => {
  start(1, 1, 1_000);
  state.update([added('web')], '1');
  await pass(200);
  state.update([added('web')], '2');
  await pass(98_000);
  expect(versions()).toEqual(['1']);
  void writer.close();
  await pass(200);
  expect(versions()).toEqual(['1', '2']);
  await pass(1e6);
  state.update([added('web')], '3');
  await pass(1e6);
  writer.closeState(state);
  await pass(1e6);
  expect(versions()).toEqual(['1', '2']);
});

// A label of the own node that flaps opens and closes node sets.
test('a query that opens and closes often is not written more often', async () => {
  start(1, 1, 1_000);
  for (const version of ['1', '2', '3']) {
    state = writer.open(QUERY);
    state.update([added('web')], version);
    await pass(200);
    writer.closeState(state);
  }
  await pass(99_000);
  expect(versions()).toEqual(['1']);
});

test('a state that could not be written is written again after a minute, without a change', async () => {
  start(1, 1);
  isBroken = true;
  state.update([added('web')], '1');
  await pass(200);
  isBroken = false;
  await pass(59_000);
  expect(versions()).toEqual([]);
  await pass(2_000);
  expect(versions()).toEqual(['1']);
});

test('nothing is written for a bookmark', async () => {
  start(0, 0);
  state.update([], '1');
  await pass(200);
  state.update([], '2');
  await pass(10_000);
  expect(versions()).toEqual(['1']);
});

test('each of two concurrent flushes waits until the newest state is on disk', async () => {
  start(0, 0);
  state.update([added('web')], '7');
  await pass(1);
  state.update([added('db')], '8');
  const flushed = [writer.flush(), writer.flush()].map((flush) => flush.then(versions));
  await pass(1_000);
  expect(await Promise.all(flushed)).toEqual([
    ['7', '8'],
    ['7', '8'],
  ]);
});

// The next process reads the file after that.
test('a flush during the last write waits for it', async () => {
  start(1e8, 1e8);
  state.update([added('web')], '7');
  const finished = writer.close();
  await pass(1);
  const flushed = writer.flush().then(versions);
  await pass(1_000);
  await finished;
  expect(await flushed).toEqual(['7']);
});

// A local process can ask for a flush again and again.
test('flushes write at most 10 minutes ahead of the limit of bytes a second', async () => {
  start(1, 1, STATE_BYTES / 100);
  for (let n = 1; n <= 20; n++) {
    state.update([added('web')], `${n}`);
    void writer.flush();
    await pass(200);
  }
  expect(versions()).toEqual(['1', '2', '3', '4', '5', '6', '7']);
});
