import { expect, test } from '@jest/globals';
import { trimHeapAfterLists } from '../../src/run/trim-heap.ts';
import { eventually } from '../support/eventually.ts';
import { recordingLogger } from '../support/recording-logger.ts';

const FIRST_LISTS_MS = 600;

/** Views that show so many MB. */
const views = (...sizes: number[]) => ({
  sources: sizes.map((size) => ({ view: { bytes: size * 1024 * 1024 } })),
});

function start(
  isReady: () => boolean,
  { open = views(5), firstListsMs = FIRST_LISTS_MS, pauseMs = 0 } = {},
) {
  const { logger, lines } = recordingLogger();
  const controller = new AbortController();
  const seen = { looks: 0, collections: 0 };
  const done = trimHeapAfterLists({
    isReady: () => {
      seen.looks++;
      return isReady();
    },
    views: open,
    logger,
    signal: controller.signal,
    firstListsMs,
    pauseMs,
    collect: () => seen.collections++,
  });
  return { seen, lines, done, end: () => controller.abort() };
}

test('collects some time after everything is ready', async () => {
  let left = 3;
  let readyAt = 0;
  const { seen, end } = start(() => {
    readyAt = performance.now();
    return --left === 0;
  });
  await eventually(() => seen, { looks: 3, collections: 1 });
  expect(performance.now() - readyAt).toBeGreaterThanOrEqual(FIRST_LISTS_MS - 1);
  end();
});

test('collects again for each large view that is opened later, and for no other', async () => {
  const open = views(5);
  const { seen, done, end } = start(() => true, { open });
  const [old] = open.sources;
  // Longer than until it looks, and collects.
  const looked = () => new Promise((resolve) => setTimeout(resolve, 600 + FIRST_LISTS_MS));
  await eventually(() => seen.collections, 1);
  open.sources = [old, ...views(3).sources].flatMap((each) => each ?? []);
  await looked();
  // What is known may grow: a tenant can let it, again and again.
  if (old !== undefined) old.view.bytes *= 9;
  await looked();
  expect(seen.collections).toBe(1);
  open.sources = views(4).sources;
  await eventually(() => seen.collections, 2);
  open.sources = [];
  await looked();
  expect(seen.collections).toBe(2);
  open.sources = views(4).sources;
  await eventually(() => seen.collections, 3);
  end();
  await done;
});

test('collects no sooner again than after a pause', async () => {
  const open = views(5);
  const { seen, done, end } = start(() => true, { open, firstListsMs: 0, pauseMs: 60_000 });
  await eventually(() => seen.collections, 1);
  open.sources = views(9).sources;
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  expect(seen.collections).toBe(1);
  end();
  await done;
});

test.each([
  ['before all is ready', () => false],
  ['after that', () => true],
])('a process that ends %s does not collect', async (_, isReady) => {
  const { seen, done, end } = start(isReady, { firstListsMs: 60_000 });
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
  const controller = new AbortController();
  const { signal } = controller;
  const done = trimHeapAfterLists({ isReady: () => true, views: views(), logger, signal });
  await eventually(() => lines.length, 1);
  expect(process.memoryUsage().heapTotal).toBeLessThan(before - 10_000_000);
  controller.abort();
  await done;
  expect(lines[0]?.msg).toContain('freed the memory');
});

test('a failed collection is a warning', async () => {
  const { logger, lines } = recordingLogger();
  const { signal } = new AbortController();
  const collect = () => {
    throw new Error('no gc');
  };
  await trimHeapAfterLists({ isReady: () => true, views: views(), logger, signal, collect });
  expect(lines).toMatchObject([{ level: 40, err: 'no gc' }]);
});
