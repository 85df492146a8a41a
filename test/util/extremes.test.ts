import { expect, test } from '@jest/globals';
import { greatest, least } from '../../src/util/extremes.ts';

// Math.min(...values) throws above some 120,000.
test('any quantity of numbers has a least and a greatest one', () => {
  const values = Array.from({ length: 1_000_000 }, (_, index) => index);
  expect([least(values), greatest(values)]).toEqual([0, 999_999]);
  expect([least([]), greatest([])]).toEqual([Infinity, -Infinity]);
});
