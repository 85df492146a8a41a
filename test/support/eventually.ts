import { expect } from '@jest/globals';
import { poll } from '../../harness/poll.ts';

/**
 * Waits until a value equals what is expected; after 30 s fails with the difference. Most take
 * milliseconds; the rest is for a busy machine.
 */
export async function eventually<T>(read: () => T | Promise<T>, expected: T): Promise<void> {
  const compare = async () => expect(await read()).toEqual(expected);
  await poll(compare, () => true, { timeoutMs: 30_000, intervalMs: 5, what: 'the expected value' });
}
