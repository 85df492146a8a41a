import { describeMachine, type Run } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { writeSection } from './readme.ts';

/** Reports progress on stderr, with the seconds since the start. */
export type Progress = (line: string) => void;

/**
 * Runs a benchmark and puts its results where the flags want them.
 *
 * @param section of bench/README.md
 * @param measure does the work
 * @param report returns the results, as for --json, and the same as text
 */
export async function runBenchmark<Found>(
  options: Pick<BenchOptions, 'json' | 'write'>,
  section: Parameters<typeof writeSection>[0],
  measure: (progress: Progress) => Promise<Found>,
  report: (found: Found, run: Run) => { readonly results: object; readonly text: string },
): Promise<void> {
  const machine = await describeMachine();
  const start = performance.now();
  const seconds = () => (performance.now() - start) / 1000;
  const progress = (line: string) =>
    void process.stderr.write(`${seconds().toFixed(0).padStart(4)} s  ${line}\n`);
  const found = await measure(progress);
  const { results, text } = report(found, { machine, seconds: seconds() });
  if (options.json) {
    process.stderr.write(`\n${text}\n`);
    process.stdout.write(`${JSON.stringify(results, undefined, 2)}\n`);
  } else {
    process.stdout.write(`\n${text}\n`);
  }
  if (options.write) writeSection(section, text);
}
