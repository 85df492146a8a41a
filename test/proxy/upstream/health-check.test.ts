import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { HealthCheck } from '../../../src/proxy/upstream/health-check.ts';

let answers: boolean;
let probes: number;
let dead: number;
/** For how long the dead server was silent. */
let silent: number;
let healthCheck: HealthCheck;

beforeEach(() => {
  jest.useFakeTimers();
  [answers, probes, dead] = [true, 0, 0];
  healthCheck = new HealthCheck({
    probe: async () => {
      probes++;
      return answers;
    },
    onDead: (_, silentMs) => {
      dead++;
      silent = silentMs;
    },
  });
});

afterEach(() => {
  jest.useRealTimers();
});

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

describe('a server with open requests', () => {
  test('is not checked while bytes arrive', async () => {
    healthCheck.onRequestStart();
    for (let n = 0; n < 10; n++) {
      await pass(20_000);
      healthCheck.onBytes();
    }
    expect(probes).toBe(0);
  });

  test('is checked after 25 s without any, and then every 25 s: 144 times an hour at most', async () => {
    healthCheck.onRequestStart();
    await pass(24_900);
    expect(probes).toBe(0);
    await pass(200);
    expect(probes).toBe(1);
    await pass(3_600_000 - 25_100);
    expect(probes).toBeLessThanOrEqual(144);
    expect(dead).toBe(0);
  });

  test('is dead if it does not answer', async () => {
    answers = false;
    healthCheck.onRequestStart();
    await pass(25_100);
    expect([dead, silent]).toEqual([1, 25_000]);
  });

  test('is not dead if bytes arrived while it was checked', async () => {
    answers = false;
    let answerNothing = (): void => {};
    const slow = new HealthCheck({
      probe: () =>
        new Promise((resolve) => {
          answerNothing = () => resolve(false);
        }),
      onDead: () => dead++,
    });
    slow.onRequestStart();
    await pass(26_000);
    slow.onBytes();
    answerNothing();
    await pass(100);
    expect(dead).toBe(0);
    slow.onRequestEnd();
  });

  test('is not checked once all requests have ended', async () => {
    healthCheck.onRequestStart();
    healthCheck.onRequestStart();
    healthCheck.onRequestEnd();
    healthCheck.onRequestEnd();
    await pass(100_000);
    expect([probes, jest.getTimerCount()]).toEqual([0, 0]);
  });
});
