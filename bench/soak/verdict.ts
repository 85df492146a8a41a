import type { Sample } from './samples.ts';
import { slopeOf } from './slope.ts';

/** What memory may gain in an hour, in MB. */
const MAX_MB_PER_HOUR = 20;
/**
 * Less than that in all is noise, however steep it looks in a short run: the collector's, for what the program
 * holds; for resident memory also each new peak, for what was once touched is not given back.
 */
const MIN_GAIN_MB: Readonly<Record<string, number>> = { heap: 15, external: 15, rss: 40 };

const MEASURES = ['rss', 'heap', 'external', 'handles', 'sockets', 'resources'] as const;

/** Fewer say nothing; a run of a minute takes some 50. */
const MIN_SAMPLES = 20;

/** What is as before when all clients have gone. */
const GIVEN_BACK = ['handles', 'sockets', 'resources'] as const;

/** Without which the samples say nothing. */
export interface Done {
  /** Of objects, in the whole run. */
  readonly changes: number;
  /** Parts of good answers that clients have taken in the second half of the run, by kind of client. */
  readonly parts: Readonly<Record<string, number>>;
  /** Clients that must be answered each time, and were not. */
  readonly unanswered: number;
  /** The API server ends connections with a GOAWAY: each one lives as long as a watch on it. */
  readonly goaway: boolean;
}

export interface Verdict {
  readonly lines: readonly string[];
  readonly failures: readonly string[];
}

/**
 * @param samples those under load, after the warm-up
 * @param before what it held before any client came
 * @param after what it holds when all have gone
 */
export function judge(
  samples: readonly Sample[],
  before: Sample,
  after: Sample,
  done: Done,
): Verdict {
  const { changes, parts, unanswered } = done;
  const failures = Object.entries(parts)
    .filter(([, count]) => count === 0)
    .map(([client]) => `${client}: no good answer in the second half`);
  if (unanswered > 0) failures.push(`${unanswered} watches were not answered within 5 s`);
  if (changes === 0) failures.push('there were no changes');
  if (samples.length < MIN_SAMPLES) failures.push(`${samples.length} samples are too few`);
  const minutes = ((samples.at(-1)?.seconds ?? 0) - (samples[0]?.seconds ?? 0)) / 60;
  const lines = MEASURES.flatMap((measure) => {
    const [start, end] = [before[measure], after[measure]];
    if (start === undefined || end === undefined) return [];
    const points = samples.map((each) => [each.seconds, each[measure] ?? Number.NaN] as const);
    const { perHour, error } = slopeOf(points);
    const noise = MIN_GAIN_MB[measure];
    const surely = perHour - 3 * error;
    const gained = (perHour / 60) * minutes;
    if (noise !== undefined && surely > MAX_MB_PER_HOUR && gained > noise) {
      failures.push(`${measure} rises by ${perHour.toFixed(1)} MB per hour`);
    }
    const slope = `${perHour.toFixed(1)} ± ${error.toFixed(1)} per hour`;
    const ends = `${start.toFixed(0)} before, ${end.toFixed(0)} after`;
    return [`${measure.padEnd(10)} ${slope.padEnd(28)} ${ends}`];
  });
  const taken = Object.entries(parts).map(([client, count]) => `${client} ${count}`);
  lines.push(`${changes} changes; parts of answers in the second half: ${taken.join(', ')}`);
  for (const measure of notGivenBack(before, after, done)) {
    failures.push(`${measure}: ${before[measure]} before, and ${after[measure]} after`);
  }
  return { lines, failures };
}

/**
 * What is held that was not before any client came. Beside the newest connection each watch may have one of its own.
 */
export function notGivenBack(before: Sample, after: Sample, { goaway }: Pick<Done, 'goaway'>) {
  const old = goaway ? Math.max(0, (after.watches ?? 0) - 1) : 0;
  return GIVEN_BACK.filter((measure) => (after[measure] ?? 0) > (before[measure] ?? 0) + old);
}
