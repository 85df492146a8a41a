import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { withTimeout } from '../../src/util/with-timeout.ts';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

test('a promise that settles in time is passed through', async () => {
  expect(await withTimeout(1000, Promise.resolve('done'))).toBe('done');
  await expect(withTimeout(1000, Promise.reject(new Error('failed')))).rejects.toThrow('failed');
});

test('a promise that takes longer is given up, and the error names what took too long', async () => {
  const waiting = expect(withTimeout(1000, new Promise(() => {}), 'the plugin')).rejects.toThrow(
    'the plugin took more than 1 s',
  );
  jest.advanceTimersByTime(1000);
  await waiting;
});
