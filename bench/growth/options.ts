import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type BenchOptions, COMMON_FLAGS, outputOptions } from '../options.ts';

/** What is the same for all clusters of a run. */
export type GrowthOptions = Omit<BenchOptions, 'cluster'>;

export const USAGE = `npm run bench:growth -- [flags]

  --smoke         two small clusters; for CI: fails only when it can't run
  --json          results as JSON on stdout; the table goes to stderr
  --write         put the results into bench/README.md; for whole runs only
  --wrapper FILE  measure this program in place of dist/main.js (which is built first)
  --profile DIR   CPU profiles of the wrapper processes
  --help          this text
`;

const FLAGS = { ...COMMON_FLAGS, profile: { type: 'string' } } as const;

/** Reads the command line; undefined: help is asked for. Throws on what it doesn't know. */
export function parseGrowthOptions(args: string[]): GrowthOptions | undefined {
  const { values } = parseArgs({ args, options: FLAGS });
  if (values.help) return undefined;
  const { smoke, profile } = values;
  return {
    rounds: smoke ? 1 : 3,
    listsPerRound: smoke ? 2 : 5,
    streamsPerRound: 1,
    starts: smoke ? 1 : 2,
    settleMs: smoke ? 500 : 10_000,
    // No part of this measures by time.
    cpuSeconds: 0,
    cpuWindows: 0,
    cpuQuietMs: 0,
    upstreamSeconds: 0,
    quietSeconds: 0,
    only: [],
    against: [],
    turns: 1,
    smoke,
    profile: profile === undefined ? undefined : resolve(profile),
    ...outputOptions(values),
  };
}
