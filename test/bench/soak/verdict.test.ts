import { describe, expect, test } from '@jest/globals';
import type { Sample } from '../../../bench/soak/samples.ts';
import { judge } from '../../../bench/soak/verdict.ts';

const BASE: Sample = {
  ...{ seconds: 0, rss: 150, heap: 40, external: 20 },
  ...{ handles: 30, sockets: 10, resources: 12 },
};
const DONE = { answers: 1, changes: 1 };

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

  test.each(['answers', 'changes'] as const)('finds that there were no %s', (what) => {
    const { failures } = judge(samples(), BASE, BASE, { ...DONE, [what]: 0 });
    expect(failures).toEqual([`there were no ${what}`]);
  });
});
