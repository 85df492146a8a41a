import { beforeEach, expect, test } from '@jest/globals';
import { RecentPeak } from '../../../src/filter/view/recent-peak.ts';

let now: number;
let peak: RecentPeak;

beforeEach(() => {
  now = 0;
  peak = new RecentPeak(() => now);
});

/** Notes a size, after so many seconds; returns the largest number of entries. */
function after(seconds: number, entries: number): number {
  now += seconds * 1000;
  return peak.note({ entries, bytes: 0 }).entries;
}

test('what was there is remembered for a minute, however small the steps', () => {
  after(0, 100);
  expect(after(59, 50)).toBe(100);
  expect(after(2, 10)).toBe(100);
  expect(after(58, 0)).toBe(100);
});

test('and is forgotten after two', () => {
  after(0, 100);
  after(1, 0);
  expect(after(60, 0)).toBe(100);
  expect(after(60, 0)).toBe(0);
});

test('after a long quiet time the size up to now counts', () => {
  after(0, 100);
  expect(after(3600, 0)).toBe(100);
  expect(after(59, 0)).toBe(100);
});

test('entries and bytes are remembered each for itself', () => {
  peak.note({ entries: 1, bytes: 20 });
  expect(peak.note({ entries: 2, bytes: 10 })).toEqual({ entries: 2, bytes: 20 });
});
