import { describe, expect, test } from '@jest/globals';
import { endOf } from '../../../src/client/api/request-error.ts';
import { RetryBackoff } from '../../../src/client/reflector/retry-backoff.ts';
import { type ErrorCode, type ErrorStatus, WrapperError } from '../../../src/errors.ts';
import { ManualClock } from '../../support/clocks.ts';

function failed(code: ErrorCode, status?: ErrorStatus): WrapperError {
  return new WrapperError(code, 'failed', status === undefined ? {} : { status });
}

const refused = (code: number) => failed('Refused', { code, reason: '' });

/** The longest waits: the first, the second, and those after some and after many failures in a row. */
function waitsAfter(error: WrapperError): number[] {
  const clock = new ManualClock();
  const backoff = new RetryBackoff(clock, () => 1);
  const waits = Array.from({ length: 40 }, () => {
    const wait = backoff.failed(endOf(error), error);
    clock.pass(wait);
    return wait;
  });
  return [0, 1, 10, 39].map((n) => waits[n] ?? 0);
}

test.each<[string, WrapperError, number[]]>([
  ['an API server that is gone', failed('Unreachable'), [200, 400, 3_000, 3_000]],
  ['503', refused(503), [1_000, 2_000, 3_000, 3_000]],
  ['429', refused(429), [1_000, 2_000, 3_000, 3_000]],
  ['403, which somebody must mend', refused(403), [500, 1_000, 3_000, 30_000]],
  ['410', refused(410), [0, 200, 3_000, 3_000]],
  ['bytes that do not parse', failed('Malformed'), [200, 400, 10_000, 60_000]],
  ['a limit for memory', failed('LimitExceeded'), [200, 400, 10_000, 60_000]],
])('after %s a query waits so long at most: %j %j', (_, error, waits) => {
  expect(waitsAfter(error)).toEqual(waits);
});

// After a minute of 408 to watches, the view was right again only 22 s after the API server had recovered.
test.each([401, 408, 410, 425, 429, 500, 502, 503, 504])(
  'however long the API server answers %i, the next request is at most 3 s away',
  (code) => {
    expect(Math.max(...waitsAfter(refused(code)))).toBe(3_000);
  },
);

test.each([400, 403, 404, 405, 406, 409, 415, 422])(
  'after a minute of %i, which somebody must mend, requests are rare',
  (code) => {
    expect(waitsAfter(refused(code)).at(-1)).toBe(30_000);
  },
);

describe('Retry-After', () => {
  test.each([
    [429, 20, 25_000],
    [503, 20, 25_000],
    [429, 600, 37_500],
    [403, 20, 500],
  ])(
    'of %d and %d s makes a query wait so long at most: %d ms',
    (code, retryAfterSeconds, wait) => {
      const error = failed('Refused', { code, reason: '', retryAfterSeconds });
      expect(waitsAfter(error)[0]).toBe(wait);
    },
  );
});

test('the waits start again after another failure, and after progress', () => {
  const backoff = new RetryBackoff(new ManualClock(), () => 1);
  const fail = (code: number) => backoff.failed(endOf(refused(code)), refused(code));
  expect([fail(403), fail(403), fail(429), fail(403)]).toEqual([500, 1_000, 1_000, 500]);
  expect(backoff.failuresInARow).toBe(1);
  backoff.reset();
  expect([backoff.failuresInARow, fail(403)]).toEqual([0, 500]);
});
