import { expect, test } from '@jest/globals';
import { WrapperError } from '../../../src/errors.ts';
import { FAILURE_RULES, failureCause } from '../../../src/proxy/reflector/failure-rules.ts';

const refused = (code: number) =>
  new WrapperError('Refused', 'refused', { status: { code, reason: '', message: '' } });

// After a minute of 408 to watches, the view was right again only 22 s after the API server had recovered.
test.each([401, 408, 410, 425, 429, 500, 502, 503, 504])(
  'however long the API server answers %i, the next request is at most 3 s away',
  (code) => {
    const { maxMs, lateMs = maxMs } = FAILURE_RULES[failureCause(refused(code), false)];
    expect(lateMs).toBeLessThanOrEqual(3_000);
  },
);

test.each([400, 403, 404, 405, 406, 409, 415, 422])(
  'after a minute of %i, which somebody must mend, requests are rare',
  (code) => {
    expect(FAILURE_RULES[failureCause(refused(code), false)].lateMs).toBe(30_000);
  },
);
