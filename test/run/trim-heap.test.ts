import { expect, test } from '@jest/globals';
import { trimHeapOnceReady } from '../../src/run/trim-heap.ts';
import { recordingLogger } from '../support/recording-logger.ts';

const FIRST_LISTS_MS = 600;

function start(isReady: () => boolean) {
  const { logger, lines } = recordingLogger();
  const controller = new AbortController();
  const seen = { looks: 0, collections: 0 };
  const done = trimHeapOnceReady({
    isReady: () => {
      seen.looks++;
      return isReady();
    },
    logger,
    signal: controller.signal,
    firstListsMs: FIRST_LISTS_MS,
    collect: () => seen.collections++,
  });
  return { seen, lines, done, end: () => controller.abort() };
}

test('collects once, some time after everything is ready', async () => {
  let ready = false;
  const { seen, done } = start(() => ready);
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(seen).toEqual({ looks: 2, collections: 0 });
  ready = true;
  const began = performance.now();
  await done;
  expect(seen).toEqual({ looks: 3, collections: 1 });
  expect(performance.now() - began).toBeGreaterThanOrEqual(FIRST_LISTS_MS - 1);
});

test.each([
  ['before all is ready', () => false],
  ['after that', () => true],
])('a process that ends %s does not collect', async (_, isReady) => {
  const { seen, done, end } = start(isReady);
  await new Promise((resolve) => setTimeout(resolve, 100));
  end();
  await done;
  expect(seen.collections).toBe(0);
});

test('frees empty pages', async () => {
  let garbage: unknown = Array.from({ length: 300_000 }, (_, index) => ({
    index,
    text: `${index}`,
  }));
  const before = process.memoryUsage().heapTotal;
  expect(garbage).toHaveLength(300_000);
  garbage = undefined;
  const { logger, lines } = recordingLogger();
  const { signal } = new AbortController();
  await trimHeapOnceReady({ isReady: () => true, logger, signal });
  expect(process.memoryUsage().heapTotal).toBeLessThan(before - 10_000_000);
  expect(lines[0]?.msg).toContain('freed the memory');
});

test('a failed collection is a warning', async () => {
  const { logger, lines } = recordingLogger();
  const { signal } = new AbortController();
  const collect = () => {
    throw new Error('no gc');
  };
  await trimHeapOnceReady({ isReady: () => true, logger, signal, collect });
  expect(lines).toMatchObject([{ level: 40, err: 'no gc' }]);
});
