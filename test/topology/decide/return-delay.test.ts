import { describe, expect, test } from '@jest/globals';
import {
  type DelayedKey,
  dueAt,
  lowestBit,
  nextDelay,
} from '../../../src/topology/decide/return-delay.ts';

const DELAY = 10;

/** The choices for one port. */
class Choices {
  #last: DelayedKey | undefined;

  /** -1: no key is ready. */
  choose(ready: number, now: number): number {
    this.#last = nextDelay(this.#last, ready, { ms: DELAY, now });
    return this.#last?.key ?? -1;
  }

  dueAt(): number | undefined {
    return dueAt(new Map(this.#last && [['p', this.#last]]), DELAY);
  }
}

/** Chooses at time `now`, with these keys ready. */
function choose(delay: Choices, now: number, ...ready: number[]): number {
  const mask = ready.reduce((bits, key) => bits | (1 << key), 0);
  return delay.choose(mask, now);
}

describe('nextDelay()', () => {
  test('the first choice is the nearest key, without a delay', () => {
    expect(choose(new Choices(), 5, 1, 2)).toBe(1);
  });

  test('leaving a key is immediate, returning takes the whole delay', () => {
    const delay = new Choices();
    expect(choose(delay, 0, 0, 1)).toBe(0);
    expect(choose(delay, 1, 1)).toBe(1);
    expect(choose(delay, 2, 0, 1)).toBe(1);
    expect(delay.dueAt()).toBe(12);
    expect(choose(delay, 11, 0, 1)).toBe(1);
    expect(choose(delay, 12, 0, 1)).toBe(0);
    expect(delay.dueAt()).toBeUndefined();
  });

  test('a key that fails while it waits starts to wait again', () => {
    const delay = new Choices();
    choose(delay, 0, 1);
    expect(choose(delay, 1, 0, 1)).toBe(1);
    expect(choose(delay, 9, 1)).toBe(1);
    expect(choose(delay, 10, 0, 1)).toBe(1);
    expect(choose(delay, 19, 0, 1)).toBe(1);
    expect(choose(delay, 20, 0, 1)).toBe(0);
  });

  test('of two keys that wait, the farther may win first, and the nearer continues to wait', () => {
    const delay = new Choices();
    choose(delay, 0, 2);
    expect(choose(delay, 1, 1, 2)).toBe(2);
    expect(choose(delay, 5, 0, 1, 2)).toBe(2);
    expect(choose(delay, 11, 0, 1, 2)).toBe(1);
    expect(delay.dueAt()).toBe(15);
    expect(choose(delay, 15, 0, 1, 2)).toBe(0);
  });

  test('a key that waits wins if no farther key is ready', () => {
    const delay = new Choices();
    choose(delay, 0, 1);
    choose(delay, 1, 0, 1);
    expect(choose(delay, 2, 0)).toBe(0);
    expect(delay.dueAt()).toBeUndefined();
  });

  test('after no key was ready, the next choice has no delay', () => {
    const delay = new Choices();
    choose(delay, 0, 1);
    expect(choose(delay, 1)).toBe(-1);
    expect(choose(delay, 2, 0, 1)).toBe(0);
  });
});

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
