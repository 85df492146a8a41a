import { beforeEach, expect, test } from '@jest/globals';
import type { Change } from '../../../src/filter/codec/change.ts';
import type { StoredState } from '../../../src/proxy/snapshot/snapshot-format.ts';
import { SnapshotWriter } from '../../../src/proxy/snapshot/snapshot-writer.ts';
import { eventually } from '../../support/eventually.ts';

let saved: StoredState[];
/** Ends the write in progress. */
let end: () => void;
let writer: SnapshotWriter;

async function save(state: StoredState): Promise<number> {
  saved.push(state);
  await new Promise<void>((resolve) => {
    end = resolve;
  });
  return 1;
}

beforeEach(() => {
  saved = [];
  writer = new SnapshotWriter({
    query: 'protobuf /api/v1/services',
    save,
    times: { quietMs: 0, unrestMs: 0, retryMs: 0, writeBytesPerSecond: 1e12 },
    notBefore: 0,
  });
});

function added(key: string): Change {
  const facts = { name: key, namespace: '', uid: key, resourceVersion: '1' };
  return { type: 'ADDED', key, facts, object: Buffer.from(key) };
}

/** Version and number of objects of each state that was written. */
const writes = () => saved.map(({ resourceVersion, objects }) => [resourceVersion, objects.length]);

test('each of two concurrent flushes waits until the newest state is on disk', async () => {
  writer.update([added('web')], '7');
  await eventually(() => saved.length === 1, true);
  writer.update([added('db')], '8');
  let flushed = 0;
  for (const flush of [writer.flush(), writer.flush()]) void flush.then(() => flushed++);
  end();
  await eventually(() => saved.length === 2, true);
  await new Promise(setImmediate);
  expect(flushed).toBe(0);
  end();
  await eventually(() => flushed === 2, true);
  expect(writes()).toEqual([
    ['7', 1],
    ['8', 2],
  ]);
});

test('a deleted object is not in the next state', async () => {
  writer.update([added('web'), added('db')], '7');
  await eventually(() => saved.length === 1, true);
  end();
  writer.update([{ type: 'DELETED', key: 'web' }], '8');
  await eventually(() => saved.length === 2, true);
  end();
  expect(saved[1]?.objects.map(String)).toEqual(['db']);
});
