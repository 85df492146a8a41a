import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { WrapperError } from '../../../src/errors.ts';
import type { ReadAttributes } from '../../../src/proxy/auth/access-policy.ts';
import type { IdentifiedCaller, Verdict } from '../../../src/proxy/auth/access-review.ts';
import { AccessReviewAuthorizer } from '../../../src/proxy/auth/access-review-authorizer.ts';
import { DecisionCache } from '../../../src/proxy/auth/decision-cache.ts';

const READ: ReadAttributes = {
  verb: 'list',
  group: '',
  version: 'v1',
  resource: 'services',
  namespace: '',
  name: '',
  labelSelector: '',
  fieldSelector: '',
};
const ALLOWED: Verdict = { kind: 'allowed' };
const DENIED: Verdict = { kind: 'denied', reason: '' };

let now: number;
let asked: string[];
let answer: (caller: string) => Promise<Verdict>;
let reviews: AccessReviewAuthorizer;

beforeEach(() => {
  now = 0;
  asked = [];
  answer = async () => ALLOWED;
  reviews = new AccessReviewAuthorizer({
    review: async (caller) => {
      asked.push(caller.id);
      return answer(caller.id);
    },
    ...{ allowedMs: 30, deniedMs: 5, maxCallers: 3, maxReviews: 2, now: () => now },
    logger: pino({ level: 'silent' }),
  });
});

const caller = (id: string): IdentifiedCaller => ({
  kind: 'token',
  authorization: `Bearer ${id}`,
  id,
});
const away = async (): Promise<Verdict> => {
  throw new WrapperError('Unreachable', 'away');
};

/** The code of the refusal, or `allowed`. */
async function outcome(id: string, attributes = READ): Promise<string> {
  try {
    await reviews.authorize(caller(id), attributes);
    return 'allowed';
  } catch (error) {
    return WrapperError.from(error, 'Malformed').code;
  }
}

test('an API server that does not answer in time is Unreachable', async () => {
  const late = new AccessReviewAuthorizer({
    review: (_caller, _attributes, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    ...{ allowedMs: 30, deniedMs: 5, maxCallers: 3, maxReviews: 2, reviewMs: 5 },
    logger: pino({ level: 'silent' }),
  });
  await expect(late.authorize(caller('a'), READ)).rejects.toMatchObject({
    code: 'Unreachable',
    message: expect.stringContaining('did not answer an access review within 5 ms'),
  });
});

describe('a decision of the API server', () => {
  test('is cached for a while, a positive one longer than a negative one', async () => {
    await outcome('a');
    now = 29;
    expect([await outcome('a'), asked.length]).toEqual(['allowed', 1]);
    now = 30;
    answer = async () => DENIED;
    expect([await outcome('a'), asked.length]).toEqual(['Forbidden', 2]);
    now = 34;
    expect([await outcome('a'), asked.length]).toEqual(['Forbidden', 2]);
    now = 35;
    answer = async () => ALLOWED;
    expect([await outcome('a'), asked.length]).toEqual(['allowed', 3]);
  });

  test.each(['verb', 'group', 'resource', 'namespace', 'name', 'labelSelector', 'fieldSelector'])(
    'holds for the same %s only',
    async (field) => {
      await outcome('a');
      answer = async () => DENIED;
      expect(await outcome('a', { ...READ, [field]: 'other' })).toBe('Forbidden');
    },
  );

  test('applies to the same caller only', async () => {
    await outcome('a');
    answer = async () => DENIED;
    expect(await outcome('b')).toBe('Forbidden');
  });

  test('is requested once for all concurrent requests', async () => {
    const all = await Promise.all([outcome('a'), outcome('a'), outcome('a')]);
    expect([all, asked]).toEqual([['allowed', 'allowed', 'allowed'], ['a']]);
    expect(reviews.counts).toEqual({ asked: 1, stale: 0 });
  });

  test('about the review itself is reported unchanged', async () => {
    answer = async () => {
      throw new WrapperError('Malformed', 'no review');
    };
    expect(await outcome('a')).toBe('Malformed');
  });

  test('that a token is no longer accepted ends all rights of its owner', async () => {
    await outcome('a');
    answer = async () => ({ kind: 'unauthenticated' });
    expect(await outcome('a', { ...READ, resource: 'endpoints' })).toBe('Unauthorized');
    answer = away;
    now = 5;
    expect(await outcome('a')).toBe('Unauthorized');
  });

  test('that a token is not accepted applies to all reads of its owner, and is cached once', async () => {
    answer = async () => ({ kind: 'unauthenticated' });
    expect(await outcome('a')).toBe('Unauthorized');
    expect(await outcome('a', { ...READ, resource: 'endpoints' })).toBe('Unauthorized');
    expect(asked).toEqual(['a']);
    now = 5;
    answer = async () => ALLOWED;
    expect([await outcome('a'), asked.length]).toEqual(['allowed', 2]);
    now = 40;
    answer = away;
    expect(await outcome('a')).toBe('allowed');
    expect(await outcome('a', { ...READ, resource: 'endpoints' })).toBe('Unreachable');
  });
});

describe('while the API server is unreachable', () => {
  test('the last decision remains valid, positive or negative, however old it is', async () => {
    await outcome('a');
    answer = async () => DENIED;
    await outcome('b');
    answer = away;
    now = 1e9;
    expect([await outcome('a'), await outcome('b')]).toEqual(['allowed', 'Forbidden']);
    expect(reviews.counts.stale).toBe(2);
  });

  test('no other caller is allowed, and a known caller is allowed nothing else', async () => {
    await outcome('a');
    answer = away;
    expect(await outcome('b')).toBe('Unreachable');
    expect(await outcome('a', { ...READ, resource: 'endpoints' })).toBe('Unreachable');
  });

  test('a negative decision after a positive one is the last decision', async () => {
    await outcome('a');
    now = 30;
    answer = async () => DENIED;
    await outcome('a');
    answer = away;
    now = 1000;
    expect(await outcome('a')).toBe('Forbidden');
  });
});

describe('limits', () => {
  test('the caller that was used least recently is evicted', async () => {
    for (const id of ['a', 'b', 'c', 'a', 'd']) await outcome(id);
    answer = away;
    expect(await outcome('a')).toBe('allowed');
    expect(await outcome('b')).toBe('Unreachable');
  });

  test('invented tokens evict no caller that was allowed', async () => {
    await outcome('kube-proxy');
    answer = async () => ({ kind: 'unauthenticated' });
    for (let index = 0; index < 100; index++) await outcome(`made-up-${index}`);
    answer = away;
    expect(await outcome('kube-proxy')).toBe('allowed');
  });

  test('a caller with many reads evicts only its own decisions', async () => {
    await outcome('kube-proxy');
    for (let index = 0; index < 100; index++) {
      await outcome('pod', { ...READ, labelSelector: `a=${index}` });
    }
    answer = away;
    expect(await outcome('kube-proxy')).toBe('allowed');
    expect(await outcome('pod', { ...READ, labelSelector: 'a=0' })).toBe('Unreachable');
    expect(await outcome('pod', { ...READ, labelSelector: 'a=99' })).toBe('allowed');
  });

  test('reviews of unknown callers are limited, those of allowed callers are not', async () => {
    for (let round = 0; round < 4; round++) {
      now += 30;
      await outcome('kube-proxy');
    }
    answer = async () => DENIED;
    expect(await outcome('d')).toBe('Forbidden');
    const accessPolicy = Promise.withResolvers<Verdict>();
    answer = async (id) => (id === 'kube-proxy' ? ALLOWED : accessPolicy.promise);
    const waiting = [outcome('a'), outcome('b')];
    expect(await outcome('c')).toBe('LimitExceeded');
    now += 30;
    expect(await outcome('d')).toBe('LimitExceeded');
    expect(await outcome('kube-proxy')).toBe('allowed');
    accessPolicy.resolve(ALLOWED);
    expect(await Promise.all(waiting)).toEqual(['allowed', 'allowed']);
    expect(await outcome('c')).toBe('allowed');
  });
});

test('the cached key of a read is short, however long its selectors are', async () => {
  const set = jest.spyOn(DecisionCache.prototype, 'set');
  const long = { ...READ, labelSelector: 'a'.repeat(15_000) };
  await outcome('a', long);
  answer = async () => DENIED;
  await outcome('b', long);
  expect(set.mock.calls.map(([, query]) => query.length < 50)).toEqual([true, true]);
  set.mockRestore();
});
