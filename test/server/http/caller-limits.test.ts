import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { statusOf } from '../../../src/client/api/status.ts';
import { CallerLimits } from '../../../src/server/http/caller-limits.ts';
import { propertyRuns } from '../../support/property-runs.ts';

function refusalOf(limits: CallerLimits, caller: string) {
  try {
    limits.enter({ user: caller });
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
    for (let n = 0; n < Math.min(perCaller, 4); n++) limits.enter({ user: 'a' });
    expect(refusalOf(limits, 'a')).toMatchObject({
      code: 429,
      reason: 'TooManyRequests',
      retryAfterSeconds: 1,
      message: expect.stringContaining(whose),
    });
    expect(limits.refused).toEqual(refused);
  });

  test('of one token leave room for those of another of the same caller', () => {
    const limits = new CallerLimits({ what: 'x', maxRequests: 9, maxPerCaller: 4, maxPerToken: 2 });
    const enter = (token: string) => limits.enter({ user: 'a', token });
    for (const token of ['1', '1', '2']) enter(token);
    expect(() => enter('1')).toThrow('2 x of this token');
    enter('2');
    expect(() => enter('3')).toThrow('4 x of this caller');
  });

  test('are counted correctly, whatever the order of starts and ends, with the bytes of each', () => {
    const one = fc.record({
      user: fc.constantFrom('a', 'b', 'c'),
      token: fc.constantFrom('', '1', '2'),
      amount: fc.nat(9),
      enters: fc.boolean(),
    });
    const max = { maxRequests: 12, maxPerCaller: 8, maxPerToken: 5 };
    fc.assert(
      fc.property(fc.array(one, { maxLength: 60 }), (steps) => {
        const limits = new CallerLimits({ what: 'bytes', ...max });
        const active: { user: string; token: string; counted: number; leave: () => void }[] = [];
        const used = (isOne: (each: (typeof active)[number]) => boolean) =>
          active.filter(isOne).reduce((sum, { counted }) => sum + counted, 0);
        for (const { user, token: name, amount, enters } of steps) {
          const token = name && `${user}/${name}`;
          const mine = active.findIndex((each) => each.user === user && each.token === token);
          // More than a share counts as all of it: such a body is sent alone.
          const counted = Math.min(amount, 5);
          const room =
            used(() => true) + counted <= 12 &&
            used((each) => each.user === user) + counted <= 8 &&
            (token === '' || used((each) => each.token === token) + counted <= 5);
          if (!enters) {
            const [first] = mine < 0 ? [] : active.splice(mine, 1);
            first?.leave();
            // A response and its socket may both be closed.
            first?.leave();
          } else if (room) {
            active.push({ user, token, counted, leave: limits.enter({ user, token }, amount) });
          } else {
            expect(() => limits.enter({ user, token }, amount)).toThrow('are active already');
          }
          expect(limits.active).toBe(used(() => true));
        }
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});
