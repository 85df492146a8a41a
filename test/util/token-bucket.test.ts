import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { TokenBucket } from '../../src/util/token-bucket.ts';

test('gives at most the burst plus the refilled tokens, and returns the time until the next one', () => {
  const steps = fc.array(fc.nat(5_000), { maxLength: 200, size: 'max' });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 10 }), (waits, burst) => {
      let now = 0;
      let taken = 0;
      const bucket = new TokenBucket({ burst, refillMs: 1000, now: () => now });
      for (const wait of waits) {
        now += wait;
        const missing = bucket.take();
        if (missing === 0) taken++;
        else {
          expect(missing).toBeGreaterThan(0);
          expect(missing).toBeLessThanOrEqual(1000);
          now += Math.ceil(missing);
          expect(bucket.take()).toBe(0);
          taken++;
        }
        expect(taken).toBeLessThanOrEqual(burst + now / 1000);
      }
    }),
  );
});
