import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { editDistance, isWithinEdits } from '../../src/text/edit-distance.ts';
import { propertyRuns } from '../support/property-runs.ts';

test('a text is within so many changes of another one if its distance is at most that', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 });
  fc.assert(
    fc.property(text, text, fc.nat(4), (from, to, max) => {
      expect(isWithinEdits(from, to, max)).toBe(editDistance(from, to) <= max);
    }),
    { numRuns: propertyRuns(2_000) },
  );
});

test('swapped letters are one change', () => {
  expect([editDistance('abcd', 'abdc'), isWithinEdits('abcd', 'abdc', 1)]).toEqual([1, true]);
});
