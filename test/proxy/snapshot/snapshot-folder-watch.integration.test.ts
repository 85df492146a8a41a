import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { FolderWatch } from '../../../src/proxy/snapshot/snapshot-folder-watch.ts';
import { recordingLogger } from '../../support/wrapper/wrapper-fixture.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

// Nothing was said before the first write, half a minute after the start.
test('a disk that hangs at the start is reported within 5 s, and when it works', async () => {
  const { logger, lines } = recordingLogger();
  const answered = Promise.withResolvers<void>();
  const files = {
    folder: '/state',
    id: async () => '1:1',
    probe: () => answered.promise,
    ready: async () => new Map(),
    invalidate: () => {},
  };
  let failures = 0;
  const watch = new FolderWatch({
    ...{ files, logger, checkMs: 10_000, retryMs: 60_000 },
    onFailed: () => failures++,
    onReplaced: () => {},
  });
  await jest.advanceTimersByTimeAsync(5_000);
  expect([watch.problem, failures]).toEqual(['the disk takes more than 5 s', 1]);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(lines).toHaveLength(1);
  answered.resolve();
  await jest.advanceTimersByTimeAsync(0);
  expect([watch.problem, lines.length]).toEqual([undefined, 2]);
  await watch.close();
});
