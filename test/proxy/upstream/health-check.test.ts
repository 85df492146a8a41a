import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { HealthCheck } from '../../../src/proxy/upstream/health-check.ts';

let answers: boolean;
let probes: number;
let dead: number;
let healthCheck: HealthCheck;

beforeEach(() => {
  jest.useFakeTimers();
  [answers, probes, dead] = [true, 0, 0];
  healthCheck = new HealthCheck({
    probe: async () => {
      probes++;
      return answers;
    },
    onDead: () => dead++,
  });
});

afterEach(() => {
  jest.useRealTimers();
});

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

describe('a server with open requests', () => {
  test('is not asked while bytes come', async () => {
    healthCheck.opened();
    for (let n = 0; n < 10; n++) {
      await pass(20_000);
      healthCheck.heard();
    }
    expect(probes).toBe(0);
  });

  test('is asked after 25 s without any, and then every 25 s: 144 times an hour at most', async () => {
    healthCheck.opened();
    await pass(24_900);
    expect(probes).toBe(0);
    await pass(200);
    expect(probes).toBe(1);
    await pass(3_600_000 - 25_100);
    expect(probes).toBeLessThanOrEqual(144);
    expect(dead).toBe(0);
  });

  test('that does not answer is dead', async () => {
    answers = false;
    healthCheck.opened();
    await pass(25_100);
    expect(dead).toBe(1);
  });

  test('is not dead when bytes came while it was asked', async () => {
    answers = false;
    let asked = (): void => {};
    const slow = new HealthCheck({
      probe: () =>
        new Promise((resolve) => {
          asked = () => resolve(false);
        }),
      onDead: () => dead++,
    });
    slow.opened();
    await pass(26_000);
    slow.heard();
    asked();
    await pass(100);
    expect(dead).toBe(0);
    slow.ended();
  });

  test('is left alone once all requests have ended', async () => {
    healthCheck.opened();
    healthCheck.opened();
    healthCheck.ended();
    healthCheck.ended();
    await pass(100_000);
    expect([probes, jest.getTimerCount()]).toEqual([0, 0]);
  });
});
