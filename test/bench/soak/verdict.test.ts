import { describe, expect, test } from '@jest/globals';
import type { Sample } from '../../../bench/soak/samples.ts';
import { judge } from '../../../bench/soak/verdict.ts';

const BASE: Sample = {
  seconds: 0,
  rss: 150,
  heap: 40,
  external: 20,
  handles: 30,
  sockets: 10,
  resources: 12,
};
const DONE = { changes: 1, parts: { followers: 1, listers: 1 }, unanswered: 0 };

/** Half an hour of samples. */
function samples(rise: (seconds: number) => Partial<Sample> = () => ({})): Sample[] {
  const seconds = Array.from({ length: 360 }, (_, index) => index * 5);
  return seconds.map((at) => ({ ...BASE, seconds: at, ...rise(at) }));
}

describe('judge()', () => {
  test('finds nothing where all stays', () => {
    expect(judge(samples(), BASE, BASE, DONE).failures).toEqual([]);
  });

  test('finds memory that rises', () => {
    const rising = samples((seconds) => ({ heap: 40 + seconds / 60 }));
    expect(judge(rising, BASE, BASE, DONE).failures).toEqual(['heap rises by 60.0 MB per hour']);
  });

  test.each(['handles', 'sockets', 'resources'] as const)('finds %s that are kept', (measure) => {
    const { failures } = judge(samples(), BASE, { ...BASE, [measure]: 31 }, DONE);
    expect(failures).toEqual([`${measure}: ${BASE[measure]} before, and 31 after`]);
  });

  test('finds watches without an answer', () => {
    const { failures } = judge(samples(), BASE, BASE, { ...DONE, unanswered: 2 });
    expect(failures).toEqual(['2 watches were not answered within 5 s']);
  });

  test('finds that there were no changes', () => {
    const { failures } = judge(samples(), BASE, BASE, { ...DONE, changes: 0 });
    expect(failures).toEqual(['there were no changes']);
  });

  // One answer in the whole run was enough.
  test('finds a kind of client that has no good answer any more', () => {
    const parts = { followers: 1000, listers: 0 };
    const { failures } = judge(samples(), BASE, BASE, { ...DONE, parts });
    expect(failures).toEqual(['listers: no good answer in the second half']);
  });

  // The slope through them is NaN, which is never too much.
  test.each([
    ['none', []],
    ['one', [{ ...BASE, rss: 9e9 }]],
    ['19', samples().slice(0, 19)],
  ])('finds too few samples: %s', (_, few) => {
    const { failures } = judge(few, BASE, BASE, DONE);
    expect(failures).toEqual([`${few.length} samples are too few`]);
  });

  test('takes those of a run of a minute', () => {
    expect(judge(samples().slice(0, 20), BASE, BASE, DONE).failures).toEqual([]);
  });
});
