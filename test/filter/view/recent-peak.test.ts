import { beforeEach, expect, test } from '@jest/globals';
import { RecentPeak } from '../../../src/filter/view/recent-peak.ts';

let now: number;
let peak: RecentPeak;

beforeEach(() => {
  now = 0;
  peak = new RecentPeak(() => now);
});

/** Records a size some seconds later; returns the peak number of entries. */
function after(seconds: number, entries: number): number {
  now += seconds * 1000;
  return peak.add({ entries, bytes: 0 }).entries;
}

test('a size counts for a minute, however small the steps', () => {
  after(0, 100);
  expect(after(59, 50)).toBe(100);
  expect(after(2, 10)).toBe(100);
  expect(after(58, 0)).toBe(100);
});

test('a size no longer counts after two minutes', () => {
  after(0, 100);
  after(1, 0);
  expect(after(60, 0)).toBe(100);
  expect(after(60, 0)).toBe(0);
});

test('after a long time without a change the last size counts', () => {
  after(0, 100);
  expect(after(3600, 0)).toBe(100);
  expect(after(59, 0)).toBe(100);
});

test('entries and bytes have separate peaks', () => {
  peak.add({ entries: 1, bytes: 20 });
  expect(peak.add({ entries: 2, bytes: 10 })).toEqual({ entries: 2, bytes: 20 });
});
