import { describe, expect, test } from '@jest/globals';
import { allocateOwned, ownedCopy } from '../../../../src/filter/codec/bytes/owned-copy.ts';

describe('an object that may live long', () => {
  /*
   * A regression: small objects came from the pool of Buffer.allocUnsafe. Each of some thousand objects kept a block
   * of 64 KB alive. The process grew by 120 MB in an hour of changes.
   */
  test.each([0, 1, 100, 1023, 1024, 5000, 100_000])(
    'of %i bytes keeps no more than a small block alive',
    (bytes) => {
      const copies = Array.from({ length: 50 }, () => allocateOwned(bytes));
      for (const copy of copies) {
        expect(copy.length).toBe(bytes);
        expect(copy.buffer.byteLength).toBeLessThanOrEqual(Math.max(4096, bytes));
      }
    },
  );

  test('shares no byte with another object', () => {
    const copies = Array.from({ length: 500 }, (_, index) =>
      ownedCopy(Buffer.alloc(index % 40, index)),
    );
    for (const [index, copy] of copies.entries()) {
      expect(copy).toEqual(Buffer.alloc(index % 40, index));
    }
  });
});
