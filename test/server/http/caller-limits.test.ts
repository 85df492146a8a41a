import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { statusOf } from '../../../src/client/api/status.ts';
import { CallerLimits, type CountedCaller } from '../../../src/server/http/caller-limits.ts';
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

  test('of one address leave room for those of another, whoever they are', () => {
    const limits = new CallerLimits({
      what: 'x',
      maxRequests: 9,
      maxPerCaller: 4,
      maxPerAddress: 2,
    });
    const enter = (user: string, address: string) => limits.enter({ user, address });
    enter('a', '10.0.0.1');
    enter('b', '10.0.0.1');
    expect(() => enter('c', '10.0.0.1')).toThrow('2 x of this address');
    expect(() => enter('c', '10.0.0.2')).not.toThrow();
    expect(limits.refused).toEqual({ listener: 0, caller: 1 });
  });

  test('are counted correctly, whatever the order of starts and ends, with the bytes of each', () => {
    const one = fc.record({
      user: fc.constantFrom('a', 'b', 'c'),
      token: fc.constantFrom(undefined, '1', '2'),
      address: fc.constantFrom(undefined, '10.0.0.1', '10.0.0.2'),
      amount: fc.nat(9),
      enters: fc.boolean(),
    });
    const max = { maxRequests: 12, maxPerCaller: 8, maxPerToken: 5, maxPerAddress: 6 };
    fc.assert(
      fc.property(fc.array(one, { maxLength: 60 }), (steps) => {
        const limits = new CallerLimits({ what: 'bytes', ...max });
        const active: { caller: CountedCaller; counted: number; leave: () => void }[] = [];
        const used = (isOne: (caller: CountedCaller) => boolean) =>
          active.reduce((sum, { caller, counted }) => sum + (isOne(caller) ? counted : 0), 0);
        for (const { user, token: name, address, amount, enters } of steps) {
          const token = name && `${user}/${name}`;
          const caller = { user, token, address };
          const mine = active.findIndex((each) => isDeepStrictEqual(each.caller, caller));
          // More than a share counts as all of it: such a body is sent alone.
          const counted = Math.min(amount, 5);
          const fits = (field: keyof CountedCaller, most: number) =>
            caller[field] === undefined ||
            used((other) => other[field] === caller[field]) + counted <= most;
          const room =
            used(() => true) + counted <= 12 &&
            fits('user', 8) &&
            fits('token', 5) &&
            fits('address', 6);
          if (!enters) {
            const [first] = mine < 0 ? [] : active.splice(mine, 1);
            first?.leave();
            // A response and its socket may both be closed.
            first?.leave();
          } else if (room) {
            active.push({ caller, counted, leave: limits.enter(caller, amount) });
          } else {
            expect(() => limits.enter(caller, amount)).toThrow('are active already');
          }
          expect(limits.active).toBe(used(() => true));
        }
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});
