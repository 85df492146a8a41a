import { expect, test } from '@jest/globals';
import { Semaphore } from '../../src/util/semaphore.ts';

test('as many as the limit work at the same time; others get their turn in the order in which they came', async () => {
  const semaphore = new Semaphore(2);
  const started: number[] = [];
  const turns = [1, 2, 3, 4].map(async (each) => {
    const release = await semaphore.acquire();
    started.push(each);
    return release;
  });
  const [first, second] = await Promise.all(turns.slice(0, 2));
  expect([started, semaphore.waiting]).toEqual([[1, 2], 2]);
  second?.();
  const third = await turns[2];
  expect([started, semaphore.waiting]).toEqual([[1, 2, 3], 1]);
  first?.();
  third?.();
  (await turns[3])?.();
  expect(started).toEqual([1, 2, 3, 4]);
  await Promise.all([semaphore.acquire(), semaphore.acquire()]);
  expect(semaphore.waiting).toBe(0);
});

test('one that came later does not take the turn of one that waits', async () => {
  const semaphore = new Semaphore(1);
  const started: string[] = [];
  const release = await semaphore.acquire();
  const first = semaphore.acquire().then(() => started.push('first'));
  release();
  void semaphore.acquire().then(() => started.push('later'));
  await first;
  expect([started, semaphore.waiting]).toEqual([['first'], 1]);
});

test('one whose signal is aborted waits no longer, and its turn passes to the next one', async () => {
  const semaphore = new Semaphore(1);
  const release = await semaphore.acquire();
  const gone = new AbortController();
  const waiting = semaphore.acquire(gone.signal);
  const next = semaphore.acquire();
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  await expect(semaphore.acquire(gone.signal)).rejects.toThrow('gone');
  expect(semaphore.waiting).toBe(1);
  release();
  (await next)();
  await semaphore.acquire();
});

test('one whose turn has come keeps it when its signal is aborted', async () => {
  const semaphore = new Semaphore(1);
  const release = await semaphore.acquire();
  const gone = new AbortController();
  const turn = semaphore.acquire(gone.signal);
  release();
  gone.abort();
  (await turn)();
  await semaphore.acquire();
});
