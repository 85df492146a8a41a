import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { PingCheck } from '../../../src/proxy/upstream/ping-check.ts';

let bytes: number;
let dead: number;
/** For how long the dead connection was silent. */
let silent: number;
/** Answers the PINGs that were sent. */
let acks: (() => void)[];
let check: PingCheck;

beforeEach(() => {
  jest.useFakeTimers();
  [bytes, dead, acks] = [0, 0, []];
  check = new PingCheck({
    bytesRead: () => bytes,
    ping: (onAck) => acks.push(onAck),
    onDead: (silentMs) => {
      dead++;
      silent = silentMs;
    },
    ...{ quietMs: 20_000, pingMs: 10_000 },
  });
});

afterEach(() => {
  check.stop();
  jest.useRealTimers();
});

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

describe('a connection', () => {
  test('gets no PING while bytes arrive', async () => {
    for (let n = 0; n < 20; n++) {
      bytes++;
      await pass(19_000);
    }
    expect(acks).toHaveLength(0);
  });

  test.each([0, 1, 1_250, 2_499])(
    'that sends nothing from %i ms on is found dead within 33 s',
    async (last) => {
      await pass(last);
      bytes++;
      await pass(17_400);
      expect(acks).toHaveLength(0);
      await pass(15_101);
      expect([acks.length, dead]).toEqual([1, 1]);
      // The bytes are counted every 2.5 s.
      expect(silent).toBeGreaterThanOrEqual(30_000);
      expect(silent).toBeLessThanOrEqual(32_500);
    },
  );

  test('that answers each PING lives, and gets 180 an hour at most', async () => {
    for (let second = 0; second < 3600; second++) {
      await pass(1000);
      bytes += acks.length;
      for (const ack of acks.splice(0)) {
        bytes++;
        ack();
      }
    }
    expect(dead).toBe(0);
    expect(bytes / 2).toBeGreaterThan(140);
    expect(bytes / 2).toBeLessThanOrEqual(180);
  });

  test('that sends other bytes instead of the answer lives', async () => {
    await pass(21_000);
    expect(acks).toHaveLength(1);
    bytes++;
    await pass(10_001);
    expect(dead).toBe(0);
  });

  // While our own event loop is blocked, timers expire first, and bytes that have arrived are read after them.
  test('whose answer is read in the turn in which the time is over lives', async () => {
    await pass(20_000);
    jest.advanceTimersByTime(9_999);
    setTimeout(() => setImmediate(() => acks[0]?.()), 0);
    await pass(2);
    expect(dead).toBe(0);
  });

  test('whose check has stopped is left alone', async () => {
    await pass(21_000);
    check.stop();
    await pass(60_000);
    expect([dead, jest.getTimerCount()]).toEqual([0, 0]);
  });
});
