import { expect, test } from '@jest/globals';
import { firstFew } from '../../src/util/first-few.ts';

test.each([
  ['nothing', firstFew([]), ''],
  ['as many as are shown', firstFew(['a', 'b'], 2), 'a, b'],
  ['one more', firstFew(['a', 'b', 'c'], 2), 'a, b and 1 more'],
  ['5 by default', firstFew([...'abcdef']), 'a, b, c, d, e and 1 more'],
  ['a list of which only some items are passed', firstFew(['a'], 1, 4), 'a and 3 more'],
])('firstFew() of %s', (_what, text, expected) => {
  expect(text).toBe(expected);
});
