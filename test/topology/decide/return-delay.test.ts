import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
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

  test('for any history, chooses like the rule in its simplest form', () => {
    const steps = fc.array(fc.record({ wait: fc.nat(8), ready: fc.nat(15) }), { maxLength: 30 });
    fc.assert(
      fc.property(steps, (history) => {
        const delay = new Choices();
        const seen: { at: number; ready: number[] }[] = [];
        let chosen = -1;
        let now = 0;
        for (const { wait, ready: mask } of history) {
          now += wait;
          const ready = [0, 1, 2, 3].filter((key) => (mask & (1 << key)) !== 0);
          seen.push({ at: now, ready });
          chosen = slowChoice(seen, chosen);
          expect(delay.choose(mask, now)).toBe(chosen);
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
