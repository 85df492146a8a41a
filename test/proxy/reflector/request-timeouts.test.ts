import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { RequestTimeouts } from '../../../src/proxy/reflector/request-timeouts.ts';

let outer: AbortController;
let timeouts: RequestTimeouts;

beforeEach(() => {
  jest.useFakeTimers();
  outer = new AbortController();
  timeouts = new RequestTimeouts(outer.signal);
});

afterEach(() => {
  timeouts.end();
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

describe('a request', () => {
  test('ends when nothing restarts its limit, and the error names the limit', () => {
    timeouts.set('silence', 1000, 'said nothing');
    jest.advanceTimersByTime(999);
    timeouts.set('silence', 1000, 'said nothing');
    jest.advanceTimersByTime(999);
    expect(timeouts.signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect(timeouts.explain(new Error('aborted'))).toMatchObject({
      code: 'Unreachable',
      message: 'the API server said nothing for 1 s',
    });
  });

  test('with a byte now and then ends by the limit for the whole request', () => {
    timeouts.set('whole', 5000, 'did not end a list');
    for (let n = 0; n < 6 && !timeouts.signal.aborted; n++) {
      timeouts.set('silence', 1000, 'said nothing');
      jest.advanceTimersByTime(900);
    }
    expect(timeouts.explain(undefined)).toMatchObject({
      message: expect.stringMatching(/did not end/),
    });
  });

  test('that its caller aborts keeps the reason of the abort', () => {
    const error = new Error('of the caller');
    outer.abort(error);
    expect(timeouts.signal.reason).toBe(error);
    expect(timeouts.explain(error)).toBe(error);
  });
});
