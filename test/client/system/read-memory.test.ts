import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { OwnReadMemory } from '../../../src/client/system/read-memory.ts';

const LIMIT = 1_000;

describe('lists that are read concurrently', () => {
  test('hold no more than the limit together, and nothing when all are done', () => {
    const step = fc.record({ list: fc.nat(4), bytes: fc.nat(1_500) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const memory = new OwnReadMemory(LIMIT);
        const lists = Array.from({ length: 5 }, () => memory.account());
        const held = lists.map(() => 0);
        for (const { list, bytes } of steps) {
          try {
            lists[list]?.reading(bytes);
            held[list] = bytes;
          } catch (error) {
            // The list alone is too large, or others are in the way: then it may be tried again.
            expect((error as { code: string }).code).toBe(
              bytes > LIMIT ? 'TooLarge' : 'LimitExceeded',
            );
            expect(String(error)).toContain('maxListBytes');
          }
          expect(memory.bytes).toBe(held.reduce((a, b) => a + b));
          expect(memory.bytes).toBeLessThanOrEqual(LIMIT);
        }
        for (const each of lists) each.reading(0);
        expect(memory.bytes).toBe(0);
      }),
    );
  });

  test('leave room for objects of eight times the limit, and no more', () => {
    const account = new OwnReadMemory(LIMIT).account();
    expect(() => account.objects(8 * LIMIT)).not.toThrow();
    expect(() => account.objects(8 * LIMIT + 1)).toThrow('maxListBytes');
  });
});
