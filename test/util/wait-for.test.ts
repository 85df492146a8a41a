import { getEventListeners } from 'node:events';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../src/util/clock.ts';
import { waitFor } from '../../src/util/wait-for.ts';

test('a wait leaves no listener at its signal, and ends with its reason', async () => {
  const stop = new AbortController();
  await waitFor(1, systemClock, stop.signal);
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  const waiting = waitFor(60_000, systemClock, stop.signal);
  stop.abort('stopped');
  await expect(waiting).rejects.toBe('stopped');
  await expect(waitFor(1, systemClock, stop.signal)).rejects.toBe('stopped');
});
