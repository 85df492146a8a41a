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

/** What is as before when all clients have gone. */
export const GIVEN_BACK = ['handles', 'sockets', 'resources'] as const;

export interface Verdict {
  readonly lines: readonly string[];
  readonly failures: readonly string[];
}

/**
 * @param samples those under load, after the warm-up
 * @param before what it held before any client came
 * @param after what it holds when all have gone
 * @param done without which all of this says nothing
 */
export function judge(
  samples: readonly Sample[],
  before: Sample,
  after: Sample,
  done: { readonly answers: number; readonly changes: number },
): Verdict {
  const failures = Object.entries(done).flatMap(([what, count]) =>
    count > 0 ? [] : [`there were no ${what}`],
  );
  const minutes = ((samples.at(-1)?.seconds ?? 0) - (samples[0]?.seconds ?? 0)) / 60;
  const lines = MEASURES.map((measure) => {
    const { perHour, error } = slopeOf(samples.map((each) => [each.seconds, each[measure]]));
    const noise = MIN_GAIN_MB[measure];
    const surely = perHour - 3 * error;
    const gained = (perHour / 60) * minutes;
    if (noise !== undefined && surely > MAX_MB_PER_HOUR && gained > noise) {
      failures.push(`${measure} rises by ${perHour.toFixed(1)} MB per hour`);
    }
    const slope = `${perHour.toFixed(1)} ± ${error.toFixed(1)} per hour`;
    const ends = `${before[measure].toFixed(0)} before, ${after[measure].toFixed(0)} after`;
    return `${measure.padEnd(10)} ${slope.padEnd(28)} ${ends}`;
  });
  for (const measure of GIVEN_BACK) {
    if (after[measure] > before[measure]) {
      failures.push(`${measure}: ${before[measure]} before, and ${after[measure]} after`);
    }
  }
  return { lines, failures };
}
