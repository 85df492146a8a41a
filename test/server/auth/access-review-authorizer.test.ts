import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { LRUCache } from 'lru-cache';
import { pino } from 'pino';
import { WrapperError } from '../../../src/errors.ts';
import type { ReadAttributes, TokenCaller } from '../../../src/server/auth/access-policy.ts';
import { unauthenticated, type Verdict } from '../../../src/server/auth/access-review.ts';
import {
  AccessReviewAuthorizer,
  type AccessReviewAuthorizerOptions,
} from '../../../src/server/auth/access-review-authorizer.ts';

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
const refuse = async (): Promise<never> => {
  throw unauthenticated();
};
const unnamed = async (): Promise<undefined> => undefined;

let now: number;
/** Access reviews, by token. */
let asked: string[];
/** Identity reviews, by token. */
let named: string[];
let answer: (token: string) => Promise<Verdict>;
let identity: (token: string) => Promise<string | undefined>;
let reviews: AccessReviewAuthorizer;

const create = (options: Partial<AccessReviewAuthorizerOptions> = {}) =>
  new AccessReviewAuthorizer({
    reviews: {
      access: async (caller) => {
        asked.push(caller.id);
        return answer(caller.id);
      },
      user: async (caller) => {
        named.push(caller.id);
        return identity(caller.id);
      },
    },
    allowedMs: 30,
    deniedMs: 5,
    maxCallers: 8,
    maxReviews: 2,
    maxWaiting: 3,
    now: () => now,
    logger: pino({ level: 'silent' }),
    ...options,
  });

/** The user of a token such as `ann/1` or `ann`. */
const userOf = async (token: string): Promise<string> => token.split('/')[0] ?? '';

beforeEach(() => {
  now = 1_000;
  asked = [];
  named = [];
  answer = async () => ALLOWED;
  identity = userOf;
  reviews = create();
});

const caller = (id: string): TokenCaller => ({
  authorization: `Bearer ${id}`,
  id,
});
const away = async (): Promise<never> => {
  throw new WrapperError('Unreachable', 'away');
};
/** The API server does not answer any review. */
const stop = (): void => {
  answer = away;
  identity = away;
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

/** The id of the user, or the code of the refusal. */
const user = (id: string): Promise<string> =>
  reviews.identify(caller(id)).catch((error) => WrapperError.from(error, 'Malformed').code);

test.each([
  ['identity', 'identify'],
  ['access', 'authorize'],
] as const)(
  'an API server that does not answer a review of %s in time is Unreachable',
  async (late, method) => {
    const never = (signal: AbortSignal) =>
      new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason)),
      );
    const slow = create({
      reviewMs: 5,
      reviews: {
        user: (_caller, signal) => (late === 'identity' ? never(signal) : userOf('a')),
        access: (_caller, _attributes, signal) => never(signal),
      },
    });
    const asked =
      method === 'identify' ? slow.identify(caller('a')) : slow.authorize(caller('a'), READ);
    await expect(asked).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('did not answer an access review within 5 ms'),
    });
  },
);

describe('a decision of the API server', () => {
  test('is cached for a while, a positive one longer than a negative one', async () => {
    await outcome('a');
    now += 30;
    expect([await outcome('a'), asked.length]).toEqual(['allowed', 1]);
    now += 1;
    answer = async () => DENIED;
    expect([await outcome('a'), asked.length]).toEqual(['Forbidden', 2]);
    now += 5;
    expect([await outcome('a'), asked.length]).toEqual(['Forbidden', 2]);
    now += 1;
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

  test('applies to the same token only: another one of that user can have other rights', async () => {
    await outcome('a/1');
    answer = async () => DENIED;
    expect([await outcome('a/2'), await outcome('a/1')]).toEqual(['Forbidden', 'allowed']);
  });

  test('is requested once for all concurrent requests', async () => {
    const all = await Promise.all([outcome('a'), outcome('a'), outcome('a')]);
    expect([all, asked, named]).toEqual([['allowed', 'allowed', 'allowed'], ['a'], ['a']]);
    expect(reviews.counts).toEqual({ asked: 2, stale: 0 });
  });

  test('about the review itself is reported unchanged', async () => {
    answer = async () => {
      throw new WrapperError('Malformed', 'no review');
    };
    expect(await outcome('a')).toBe('Malformed');
  });

  test('that a token is no longer accepted ends all rights of its owner', async () => {
    await outcome('a');
    answer = refuse;
    expect(await outcome('a', { ...READ, resource: 'endpoints' })).toBe('Unauthorized');
    expect(await outcome('a')).toBe('Unauthorized');
    stop();
    now += 6;
    expect(await outcome('a')).toBe('Unauthorized');
  });

  test('that a token is not accepted applies to all reads of its owner, and is cached once', async () => {
    identity = refuse;
    expect(await outcome('a')).toBe('Unauthorized');
    expect(await outcome('a', { ...READ, resource: 'endpoints' })).toBe('Unauthorized');
    expect([named, asked]).toEqual([['a'], []]);
    now += 6;
    identity = userOf;
    expect([await outcome('a'), named.length]).toEqual(['allowed', 2]);
    now += 40;
    stop();
    expect(await outcome('a')).toBe('allowed');
    expect(await outcome('a', { ...READ, resource: 'endpoints' })).toBe('Unreachable');
  });
});

describe('while the API server is unreachable', () => {
  test('the last decision remains valid, positive or negative, however old it is', async () => {
    await outcome('a');
    answer = async () => DENIED;
    await outcome('b');
    stop();
    now += 1e9;
    expect([await outcome('a'), await outcome('b')]).toEqual(['allowed', 'Forbidden']);
    expect(reviews.counts.stale).toBe(2);
  });

  test('no other caller is allowed, and a known caller is allowed nothing else', async () => {
    await outcome('a');
    stop();
    expect(await outcome('b')).toBe('Unreachable');
    expect(await outcome('a', { ...READ, resource: 'endpoints' })).toBe('Unreachable');
  });
});

/** What the API server answers about a token, and as which caller its requests count. */
describe('the user of a token', () => {
  const twoTokens = () => Promise.all([user('a/1'), user('a/2')]);

  test('is the same for all its tokens, and another for other users', async () => {
    const [one, two] = await twoTokens();
    expect(one).toBe(two);
    expect(await user('b')).not.toBe(one);
    expect(await reviews.authorize(caller('a/3'), READ)).toBe(one);
  });

  test('that cannot be named is asked again when a right would be, and keeps its decisions', async () => {
    identity = unnamed;
    await outcome('a/1');
    now += 30;
    expect([await user('a/1'), named.length]).toEqual(['a/1', 1]);
    now += 1;
    expect([await user('a/1'), named.length]).toEqual(['a/1', 2]);
    now += 31;
    identity = userOf;
    answer = away;
    const [one, two] = await twoTokens();
    expect(one).toBe(two);
    expect(await outcome('a/1')).toBe('allowed');
  });

  test.each<[string, () => Promise<string | undefined>]>([
    ['401', refuse],
    ['403 or 404', unnamed],
    ['5xx or nothing', away],
  ])('stays the same when the API server later answers %s', async (_, later) => {
    const [one] = await twoTokens();
    identity = later;
    now += 1e9;
    expect(await twoTokens()).toEqual([one, one]);
    expect(named).toHaveLength(2);
  });

  test('that could not be named stays the same token while the API server is unreachable', async () => {
    identity = unnamed;
    await user('a/1');
    stop();
    now += 1e9;
    expect([await user('a/1'), await user('a/2')]).toEqual(['a/1', 'Unreachable']);
  });
});

describe('limits', () => {
  test('invented tokens evict no caller that was authenticated, and are bounded themselves', async () => {
    const known = ['kube-proxy', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    for (const id of known) await outcome(id);
    identity = refuse;
    for (let index = 0; index < 100; index++) await outcome(`made-up-${index}`);
    stop();
    for (const id of known) expect(await outcome(id)).toBe('allowed');
    expect(await outcome('made-up-99')).toBe('Unauthorized');
    expect(await outcome('made-up-97')).toBe('Unreachable');
  });

  test('a user with many tokens evicts only its own', async () => {
    await outcome('kube-proxy');
    for (let index = 0; index < 100; index++) await outcome(`pod/${index}`);
    stop();
    expect(await outcome('kube-proxy')).toBe('allowed');
  });

  test('a caller with many reads evicts only its own decisions', async () => {
    await outcome('kube-proxy');
    for (let index = 0; index < 100; index++) {
      await outcome('pod', { ...READ, labelSelector: `a=${index}` });
    }
    stop();
    expect(await outcome('kube-proxy')).toBe('allowed');
    expect(await outcome('pod', { ...READ, labelSelector: 'a=0' })).toBe('Unreachable');
    expect(await outcome('pod', { ...READ, labelSelector: 'a=99' })).toBe('allowed');
  });

  const read = (index: number) => ({ ...READ, labelSelector: `a=${index}` });

  describe('of reviews of unknown callers', () => {
    let answers: (() => void)[];

    const settle = () => new Promise(setImmediate);
    const begin = (id: string, signal?: AbortSignal): Promise<string> =>
      reviews.identify(caller(id), signal).then(
        () => 'known',
        (error) => WrapperError.from(error, 'Malformed').code,
      );
    /** The API server answers the oldest review. */
    const answerNext = async (): Promise<void> => {
      answers.shift()?.();
      await settle();
    };

    beforeEach(async () => {
      await outcome('kube-proxy');
      named = [];
      answers = [];
      identity = (id) =>
        new Promise((resolve) => {
          answers.push(() => resolve(userOf(id)));
        });
    });

    test('apply to all of them together; others wait their turn, first in first out', async () => {
      const all = ['a', 'b', 'c', 'd'].map((id) => begin(id));
      await settle();
      expect(named).toEqual(['a', 'b']);
      await answerNext();
      expect(named).toEqual(['a', 'b', 'c']);
      const last = begin('e');
      await answerNext();
      expect(named).toEqual(['a', 'b', 'c', 'd']);
      for (let n = 0; n < 3; n++) await answerNext();
      expect(await Promise.all([...all, last])).toEqual(Array(5).fill('known'));
    });

    test('hinder neither a known caller nor a token that was refused a moment ago', async () => {
      identity = refuse;
      expect(await user('refused')).toBe('Unauthorized');
      identity = () => new Promise(() => {});
      for (const id of ['a', 'b', 'c']) void begin(id);
      now += 4;
      expect(await user('refused')).toBe('Unauthorized');
      now += 31;
      expect(await outcome('kube-proxy')).toBe('allowed');
    });

    test('also bound how many requests wait, so that known callers have room on the listener', async () => {
      for (const id of ['a', 'b', 'c', 'c', 'd']) void begin(id);
      const refused = reviews.identify(caller('e'));
      await expect(refused).rejects.toMatchObject({
        code: 'LimitExceeded',
        message: '2 access reviews of unknown callers are active already',
        status: { code: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 },
      });
      expect(await outcome('kube-proxy')).toBe('allowed');
      await answerNext();
      void begin('f');
      for (let n = 0; n < 4; n++) await answerNext();
      expect(named).toEqual(['a', 'b', 'c', 'd', 'f']);
    });

    test('refuse a request that has waited as long as a review may take', async () => {
      reviews = create({ reviewMs: 20 });
      for (const id of ['a', 'b']) void begin(id);
      await expect(reviews.identify(caller('c'))).rejects.toMatchObject({
        message: '2 access reviews of unknown callers are active already',
        status: { code: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 },
      });
      for (let n = 0; n < 2; n++) await answerNext();
      void begin('d');
      await settle();
      expect(named).toEqual(['a', 'b', 'd']);
    });

    test('leave out a request whose client has gone', async () => {
      const gone = new AbortController();
      for (const id of ['a', 'b']) void begin(id);
      const left = begin('c', gone.signal);
      const next = begin('d');
      gone.abort();
      expect(await left).toBe('LimitExceeded');
      for (let n = 0; n < 3; n++) await answerNext();
      expect(await next).toBe('known');
      expect(named).toEqual(['a', 'b', 'd']);
    });

    test('count a review until the API server has answered, also without its client', async () => {
      const gone = new AbortController();
      void begin('a', gone.signal);
      for (const id of ['b', 'c']) void begin(id);
      await settle();
      gone.abort();
      await settle();
      expect(named).toEqual(['a', 'b']);
      await answerNext();
      expect(named).toEqual(['a', 'b', 'c']);
    });
  });

  test('reviews of one user are limited together, whatever its token, and do not hinder others', async () => {
    for (const id of ['a/1', 'a/2', 'b']) await user(id);
    const open = Promise.withResolvers<Verdict>();
    answer = (id) => (id === 'b' ? Promise.resolve(ALLOWED) : open.promise);
    const waiting = [outcome('a/1'), outcome('a/2')];
    await new Promise(setImmediate);
    expect(await outcome('a/1', read(1))).toBe('LimitExceeded');
    expect(await outcome('b')).toBe('allowed');
    open.resolve(ALLOWED);
    expect(await Promise.all(waiting)).toEqual(['allowed', 'allowed']);
  });

  test('a user that fills its own limit does not keep a right that was taken away', async () => {
    await outcome('a');
    now += 31;
    const open = Promise.withResolvers<Verdict>();
    answer = () => open.promise;
    const waiting = [outcome('a', read(1)), outcome('a', read(2))];
    await new Promise(setImmediate);
    expect(await outcome('a')).toBe('LimitExceeded');
    open.resolve(DENIED);
    await Promise.all(waiting);
  });
});

test('the cached keys of reads and users are short, however long selectors and names are', async () => {
  const long = 'a'.repeat(15_000);
  identity = async () => long;
  const set = jest.spyOn(LRUCache.prototype, 'set');
  const user = await reviews.authorize(caller('a'), { ...READ, labelSelector: long });
  const keys = [user, ...set.mock.calls.map(([key]) => String(key))];
  set.mockRestore();
  expect(keys.map((key) => key.length < 50)).toEqual([true, true, true]);
});
