import { expect, test } from '@jest/globals';
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
  watches: 3,
};
const DONE = { changes: 1, parts: { followers: 1, listers: 1 }, unanswered: 0, goaway: false };
/** One connection more for each watch but one. */
const GOAWAY = { ...DONE, goaway: true };
/** Half an hour. */
const FLAT = Array.from({ length: 360 }, (_, index): Sample => ({ ...BASE, seconds: index * 5 }));
const RISING = FLAT.map((sample): Sample => ({ ...sample, heap: 40 + sample.seconds / 60 }));

test.each<[what: string, failures: string[], samples: Sample[], after: Sample, done: typeof DONE]>([
  ['nothing where all stays', [], FLAT, BASE, DONE],
  ['nothing in the samples of a run of a minute', [], FLAT.slice(0, 20), BASE, DONE],
  ['memory that rises', ['heap rises by 60.0 MB per hour'], RISING, BASE, DONE],
  ['what is kept', ['sockets: 10 before, and 31 after'], FLAT, { ...BASE, sockets: 31 }, DONE],
  ['connections as long as a watch lasts', [], FLAT, { ...BASE, sockets: 12 }, GOAWAY],
  ['one more', ['sockets: 10 before, and 13 after'], FLAT, { ...BASE, sockets: 13 }, GOAWAY],
  [
    'one without GOAWAYs',
    ['sockets: 10 before, and 11 after'],
    FLAT,
    { ...BASE, sockets: 11 },
    DONE,
  ],
  [
    'watches without an answer',
    ['2 watches were not answered within 5 s'],
    FLAT,
    BASE,
    { ...DONE, unanswered: 2 },
  ],
  ['that nothing changed', ['there were no changes'], FLAT, BASE, { ...DONE, changes: 0 }],
  // One answer in the whole run was enough.
  [
    'a kind of client that has no good answer any more',
    ['listers: no good answer in the second half'],
    FLAT,
    BASE,
    { ...DONE, parts: { followers: 1000, listers: 0 } },
  ],
  // The slope through them is NaN, which is never too much.
  ['too few samples', ['19 samples are too few'], FLAT.slice(0, 19), BASE, DONE],
  ['that there are no samples', ['0 samples are too few'], [], BASE, DONE],
])('judge() finds %s', (_, failures, samples, after, done) => {
  expect(judge(samples, BASE, after, done).failures).toEqual(failures);
});
