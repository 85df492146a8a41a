import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { RequestTimeouts } from '../../../src/proxy/upstream/request-timeouts.ts';

let outer: AbortController;
let deadline: RequestTimeouts;

beforeEach(() => {
  jest.useFakeTimers();
  outer = new AbortController();
  deadline = new RequestTimeouts(outer.signal);
});

afterEach(() => {
  deadline.end();
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

describe('a request', () => {
  test('is ended when nothing starts its limit over, and the error says why', () => {
    deadline.set('silence', 1000, 'said nothing');
    jest.advanceTimersByTime(999);
    deadline.set('silence', 1000, 'said nothing');
    jest.advanceTimersByTime(999);
    expect(deadline.signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect(deadline.explain(new Error('aborted'))).toMatchObject({
      code: 'Unreachable',
      message: 'the API server said nothing for 1 s',
    });
  });

  test('that gets a byte now and then is ended all the same by the limit of the whole', () => {
    deadline.set('whole', 5000, 'did not end a list');
    for (let n = 0; n < 6 && !deadline.signal.aborted; n++) {
      deadline.set('silence', 1000, 'said nothing');
      jest.advanceTimersByTime(900);
    }
    expect(deadline.explain(undefined)).toMatchObject({
      message: expect.stringMatching(/did not end/),
    });
  });

  test('that its caller ends keeps the error it ended with', () => {
    const error = new Error('of the caller');
    outer.abort(error);
    expect(deadline.signal.reason).toBe(error);
    expect(deadline.explain(error)).toBe(error);
  });
});
