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
  test('are limited per caller: further ones get 429 with Retry-After, those of others do not', () => {
    const limits = new CallerLimits({ what: 'requests', maxRequests: 4, maxPerCaller: 2 });
    const leave = limits.enter('a');
    limits.enter('a');
    expect(refusalOf(limits, 'a')).toMatchObject({
      ...{ code: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 },
      message: expect.stringContaining('of this caller'),
    });
    limits.enter('b');
    leave();
    expect(refusalOf(limits, 'a')).toBeUndefined();
    expect(limits.refused).toEqual({ listener: 0, caller: 1 });
  });

  test('are limited in total', () => {
    const limits = new CallerLimits({ what: 'requests', maxRequests: 2, maxPerCaller: 2 });
    limits.enter('a');
    const leave = limits.enter('b');
    expect(refusalOf(limits, 'c')?.message).toContain('of all callers');
    leave();
    // A response and its socket may both be closed.
    leave();
    expect(limits.active).toBe(1);
    limits.enter('c');
    expect(refusalOf(limits, 'c')).toMatchObject({ code: 429 });
    expect(limits.refused).toEqual({ listener: 2, caller: 0 });
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
            if (first !== undefined) active.splice(active.indexOf(first), 1);
          } else if (room) active.push({ caller, leave: limits.enter(caller) });
          else expect(refusalOf(limits, caller)).toBeDefined();
          expect(limits.active).toBe(active.length);
        }
      }),
    );
  });
});
