import { setTimeout as delay } from 'node:timers/promises';
import { expect } from '@jest/globals';

/** Waits until a value equals what is expected; after two seconds fails with the difference. */
export async function eventually<T>(read: () => T | Promise<T>, expected: T): Promise<void> {
  const deadline = Date.now() + 2000;
  let value = await read();
  while (Date.now() < deadline) {
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
