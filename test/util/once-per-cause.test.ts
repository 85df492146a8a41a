import { expect, test } from '@jest/globals';
import { OncePerCause } from '../../src/util/once-per-cause.ts';

test('a failure is new when its cause differs from the last one, and after a success', () => {
  const failure = new OncePerCause();
  const causes = ['a', 'a', 'b', 'a'];
  expect(causes.map((cause) => failure.fail(cause))).toEqual([true, false, true, true]);
  expect(failure.cause).toBe('a');
  expect([failure.succeed(), failure.succeed()]).toEqual([true, false]);
  expect(failure.cause).toBeUndefined();
  expect(failure.fail('a')).toBe(true);
});
