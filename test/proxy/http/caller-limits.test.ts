import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { statusOf } from '../../../src/proxy/api/status.ts';
import { CallerLimits } from '../../../src/proxy/http/caller-limits.ts';

function refusalOf(limits: CallerLimits, caller: string) {
  try {
    limits.enter(caller);
  } catch (error) {
    return statusOf(error);
  }
  return undefined;
}

describe('concurrent requests', () => {
  test.each([
    ['caller', 'of this caller', 2, { listener: 0, caller: 1 }],
    ['listener', 'of all callers', 5, { listener: 1, caller: 0 }],
  ])('beyond the limit per %s get 429 with Retry-After', (_limit, whose, perCaller, refused) => {
    const limits = new CallerLimits({ what: 'requests', maxRequests: 4, maxPerCaller: perCaller });
    for (let n = 0; n < Math.min(perCaller, 4); n++) limits.enter('a');
    expect(refusalOf(limits, 'a')).toMatchObject({
      code: 429,
      reason: 'TooManyRequests',
      retryAfterSeconds: 1,
      message: expect.stringContaining(whose),
    });
    expect(limits.refused).toEqual(refused);
  });

  test('are counted correctly, whatever the order of starts and ends', () => {
    const steps = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.boolean()));
    fc.assert(
      fc.property(steps, (all) => {
        const limits = new CallerLimits({ what: 'requests', maxRequests: 5, maxPerCaller: 3 });
        const active: { readonly caller: string; readonly leave: () => void }[] = [];
        for (const [caller, enters] of all) {
          const own = active.filter((each) => each.caller === caller);
          const room = active.length < 5 && own.length < 3;
          if (!enters) {
            const [first] = own;
            first?.leave();
            // A response and its socket may both be closed.
            first?.leave();
            if (first !== undefined) active.splice(active.indexOf(first), 1);
          } else if (room) active.push({ caller, leave: limits.enter(caller) });
          else expect(refusalOf(limits, caller)).toBeDefined();
          expect(limits.active).toBe(active.length);
        }
      }),
    );
  });
});
