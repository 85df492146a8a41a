import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { lowestBit, ReturnDelay } from '../../../src/topology/decide/return-delay.ts';

const DELAY = 10;

/** Chooses at time `now`, with these keys ready. */
function choose(delay: ReturnDelay, now: number, ...ready: number[]): number {
  const mask = ready.reduce((bits, key) => bits | (1 << key), 0);
  return delay.choose('p', mask, DELAY, now);
}

describe('ReturnDelay', () => {
  test('the first choice is the nearest key, without a delay', () => {
    expect(choose(new ReturnDelay(), 5, 1, 2)).toBe(1);
  });

  test('leaving a key is immediate, returning takes the whole delay', () => {
    const delay = new ReturnDelay();
    expect(choose(delay, 0, 0, 1)).toBe(0);
    expect(choose(delay, 1, 1)).toBe(1);
    expect(choose(delay, 2, 0, 1)).toBe(1);
    expect(delay.next(DELAY)).toBe(12);
    expect(choose(delay, 11, 0, 1)).toBe(1);
    expect(choose(delay, 12, 0, 1)).toBe(0);
    expect(delay.next(DELAY)).toBeUndefined();
  });

  test('a key that fails while it waits starts to wait again', () => {
    const delay = new ReturnDelay();
    choose(delay, 0, 1);
    expect(choose(delay, 1, 0, 1)).toBe(1);
    expect(choose(delay, 9, 1)).toBe(1);
    expect(choose(delay, 10, 0, 1)).toBe(1);
    expect(choose(delay, 19, 0, 1)).toBe(1);
    expect(choose(delay, 20, 0, 1)).toBe(0);
  });

  test('of two keys that wait, the farther may win first, and the nearer continues to wait', () => {
    const delay = new ReturnDelay();
    choose(delay, 0, 2);
    expect(choose(delay, 1, 1, 2)).toBe(2);
    expect(choose(delay, 5, 0, 1, 2)).toBe(2);
    expect(choose(delay, 11, 0, 1, 2)).toBe(1);
    expect(delay.next(DELAY)).toBe(15);
    expect(choose(delay, 15, 0, 1, 2)).toBe(0);
  });

  test('a key that waits wins if no farther key is ready', () => {
    const delay = new ReturnDelay();
    choose(delay, 0, 1);
    choose(delay, 1, 0, 1);
    expect(choose(delay, 2, 0)).toBe(0);
  });

  test('after no key was ready, the next choice has no delay', () => {
    const delay = new ReturnDelay();
    choose(delay, 0, 1);
    expect(choose(delay, 1)).toBe(-1);
    expect(choose(delay, 2, 0, 1)).toBe(0);
  });

  test('each port has its own delay', () => {
    const delay = new ReturnDelay();
    delay.choose('a', 0b10, DELAY, 0);
    delay.choose('b', 0b01, DELAY, 0);
    expect(delay.choose('a', 0b11, DELAY, 1)).toBe(1);
    expect(delay.choose('b', 0b11, DELAY, 1)).toBe(0);
  });

  test('a port that no longer exists is discarded with its delay', () => {
    const delay = new ReturnDelay();
    delay.choose('a', 0b10, DELAY, 0);
    delay.choose('a', 0b11, DELAY, 1);
    delay.keepOnly(new Set(['b']));
    expect(delay.next(DELAY)).toBeUndefined();
    expect(delay.choose('a', 0b11, DELAY, 2)).toBe(0);
  });

  test('for any history, chooses like the rule in its simplest form', () => {
    const steps = fc.array(fc.record({ wait: fc.nat(8), ready: fc.nat(15) }), { maxLength: 30 });
    fc.assert(
      fc.property(steps, (history) => {
        const delay = new ReturnDelay();
        const seen: { at: number; ready: number[] }[] = [];
        let chosen = -1;
        let now = 0;
        for (const { wait, ready: mask } of history) {
          now += wait;
          const ready = [0, 1, 2, 3].filter((key) => (mask & (1 << key)) !== 0);
          seen.push({ at: now, ready });
          chosen = slowChoice(seen, chosen);
          expect(delay.choose('p', mask, DELAY, now)).toBe(chosen);
        }
      }),
      { numRuns: 500 },
    );
  });
});

/** Whether a key has been ready for at least the delay until now. */
function hasWaited(seen: readonly { at: number; ready: number[] }[], key: number): boolean {
  const now = seen.at(-1)?.at ?? 0;
  let since = now;
  for (const { at, ready } of [...seen].reverse()) {
    if (!ready.includes(key)) break;
    since = at;
  }
  return now - since >= DELAY;
}

function slowChoice(seen: readonly { at: number; ready: number[] }[], held: number): number {
  const ready = seen.at(-1)?.ready ?? [];
  const nearest = ready[0] ?? -1;
  if (held < 0 || nearest < 0) return nearest;
  const returned = ready.find((key) => key < held && hasWaited(seen, key));
  return returned ?? ready.find((key) => key >= held) ?? nearest;
}

describe('lowestBit()', () => {
  test.each([
    [1, 0],
    [0b1000, 3],
    [0b1010, 1],
    [1 << 15, 15],
  ])('of %i is %i', (mask, bit) => {
    expect(lowestBit(mask)).toBe(bit);
  });
});
