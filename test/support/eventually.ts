import { setTimeout as delay } from 'node:timers/promises';
import { expect } from '@jest/globals';

/**
 * Waits until a value equals what is expected; after 20 s fails with the difference. Most take
 * milliseconds; the rest is for a busy machine.
 */
export async function eventually<T>(read: () => T | Promise<T>, expected: T): Promise<void> {
  // Not the time of day, which some tests hold still.
  const start = performance.now();
  let value = await read();
  while (performance.now() - start < 20_000) {
    try {
      expect(value).toEqual(expected);
      return;
    } catch {
      await delay(5);
      value = await read();
    }
  }
  expect(value).toEqual(expected);
}
