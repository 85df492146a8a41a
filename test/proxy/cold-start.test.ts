import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type ErrorCode, WrapperError } from '../../src/errors.ts';
import { ColdStart } from '../../src/proxy/cold-start.ts';
import { Reach } from '../../src/proxy/reach.ts';

let reach: Reach;
let cutOff: number;
let start: ColdStart;

beforeEach(() => {
  jest.useFakeTimers();
  reach = new Reach();
  cutOff = 0;
  start = coldStart();
});

afterEach(() => {
  start.end();
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

function coldStart(): ColdStart {
  return new ColdStart({ reach, graceMs: 1000, onCutOff: () => cutOff++ });
}

function failure(code: ErrorCode, status?: number): WrapperError {
  if (status === undefined) return new WrapperError(code, 'x');
  return new WrapperError(code, 'x', { status: { code: status, reason: '', message: '' } });
}

const pass = (ms: number) => jest.advanceTimersByTime(ms);

describe('the API server is out of reach', () => {
  test('when it has accepted no connection for the grace time', () => {
    start.attempting();
    pass(990);
    expect(cutOff).toBe(0);
    pass(20);
    expect(cutOff).toBe(1);
    expect(reach.cutOff).toBe(true);
  });

  test.each([
    ['Unreachable', undefined],
    ['Credentials', undefined],
    ['Refused', 500],
    ['Refused', 429],
  ] as const)('when for the grace time all it gave was %s %s', (code, status) => {
    for (let n = 0; n < 12; n++) {
      expect(cutOff).toBe(n > 9 ? 1 : 0);
      start.attempting();
      pass(1);
      start.failed(failure(code, status));
      pass(100);
    }
    expect(cutOff).toBe(1);
  });

  test('when it has accepted a connection and said nothing for 10 s', () => {
    start.attempting();
    reach.noteConnected();
    pass(9_900);
    expect(cutOff).toBe(0);
    pass(200);
    expect(cutOff).toBe(1);
  });

  test('for the next question after one failure, once the first has waited', () => {
    reach.noteCutOff();
    start.attempting();
    expect(cutOff).toBe(0);
    start.failed(failure('Unreachable'));
    pass(200);
    expect(cutOff).toBe(1);
  });
});

describe('the API server is there', () => {
  test.each([401, 403, 404, 410])('when it answers %i', (code) => {
    for (let n = 0; n < 50; n++) {
      start.attempting();
      start.failed(failure('Refused', code));
      pass(1000);
    }
    expect(cutOff).toBe(0);
  });

  test('when it sends what cannot be used', () => {
    start.attempting();
    start.failed(failure('Malformed'));
    pass(60_000);
    expect(cutOff).toBe(0);
  });

  test('again, for questions that come later, once it has answered any', () => {
    reach.noteCutOff();
    reach.noteAnswer(503);
    expect(reach.cutOff).toBe(true);
    reach.noteAnswer(200);
    expect([reach.cutOff, reach.answered]).toEqual([false, true]);
  });

  test('when the list has come, and nothing changes that', () => {
    start.attempting();
    start.end();
    pass(60_000);
    start.failed(failure('Unreachable'));
    pass(60_000);
    expect(cutOff).toBe(0);
  });
});
