import { beforeEach, describe, expect, test } from '@jest/globals';
import { WrapperError } from '../../../src/errors.ts';
import { ReflectorHealth } from '../../../src/proxy/reflector/reflector-health.ts';
import { type LogLine, recordingLogger } from '../../support/wrapper/wrapper-fixture.ts';

let health: ReflectorHealth;
let lines: readonly LogLine[];

beforeEach(() => {
  const recorded = recordingLogger();
  lines = recorded.lines;
  // With the largest random number each wait is the whole back-off.
  health = new ReflectorHealth({ logger: recorded.logger, random: () => 1 });
});

function refusal(code: number, retryAfterSeconds?: number): WrapperError {
  const retryAfter = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  const status = { code, reason: '', message: '', ...retryAfter };
  return new WrapperError('Refused', 'refused', { status });
}

const unreachable = new WrapperError('Unreachable', 'gone');
const malformed = new WrapperError('Malformed', 'bad bytes');
const messages = () => lines.map(({ msg }) => msg);

describe('the wait after a failure', () => {
  test('doubles, and is the first one again after a useful event', () => {
    expect([1, 2, 3].map(() => health.failed(unreachable))).toEqual([200, 400, 800]);
    health.progressed();
    expect(health.failed(unreachable)).toBe(200);
  });

  test('does not start again because a watch opens', () => {
    health.failed(unreachable);
    health.opened();
    expect(health.failed(unreachable)).toBe(400);
  });

  test.each([
    [10, 10_000],
    [3600, 30_000],
  ])('obeys Retry-After: %d, up to 30 s', (seconds, wait) => {
    expect(health.failed(refusal(429, seconds))).toBe(wait);
  });

  test('is a minute after six unusable responses in a row', () => {
    const waits = [1, 2, 3, 4, 5, 6].map(() => health.failed(malformed));
    expect(waits.at(-1)).toBe(60_000);
    expect(waits.slice(0, 5).every((wait) => wait < 60_000)).toBe(true);
  });
});

describe('a failure', () => {
  test('is logged once per cause, and its end once', () => {
    for (const error of [unreachable, unreachable, refusal(500), refusal(500)]) {
      health.failed(error);
    }
    health.opened();
    expect(messages()).toEqual(['interrupted', 'interrupted', 'connected again']);
    expect(health.status).toMatchObject({ connected: true, failures: 0, error: undefined });
  });

  test('after unusable data lasts until a useful event, not until the next watch opens', () => {
    health.opened();
    health.failed(malformed);
    health.opened();
    expect(health.status).toMatchObject({ connected: true, failures: 1, error: malformed });
    health.progressed();
    expect(health.status).toMatchObject({ connected: true, failures: 0, error: undefined });
    expect(messages()).toEqual(['interrupted', 'connected again']);
  });

  test('after a watch that ended immediately lasts until a useful event too', () => {
    health.opened();
    health.endedImmediately();
    health.failed(unreachable);
    health.opened();
    expect(health.status).toMatchObject({ connected: true, failures: 1 });
  });
});

test('a list is needed after the second unusable response in a row', () => {
  health.failed(malformed);
  expect(health.needsList).toBe(false);
  health.failed(malformed);
  expect(health.needsList).toBe(true);
  health.progressed();
  expect(health.needsList).toBe(false);
});

test('the third 403 in a row is a denial, once', () => {
  const denials = [403, 403, 500, 403, 403, 403, 403].map((code) => {
    health.failed(refusal(code));
    return health.isDenied;
  });
  expect(denials).toEqual([false, false, false, false, false, true, false]);
});

test('the objects become stale when a watch ends, and suspect watches do not refresh them', () => {
  expect(health.status.staleMs).toBe(Number.POSITIVE_INFINITY);
  health.opened();
  health.endedImmediately();
  health.failed(unreachable);
  expect(health.status.staleMs).toBe(Number.POSITIVE_INFINITY);
  health.opened();
  expect(health.status.staleMs).toBe(0);
  health.progressed();
  health.closed();
  expect(health.status.staleMs).toBeLessThan(Number.POSITIVE_INFINITY);
});
