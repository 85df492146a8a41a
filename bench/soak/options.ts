import { parseArgs } from 'node:util';

export interface SoakOptions {
  /** How long it runs, after the warm-up. */
  readonly minutes: number;
  /** Seconds between two samples. */
  readonly sampleSeconds: number;
}

const USAGE = `Runs the wrapper for long under churn, with clients that come and go and slow ones, and
looks whether it keeps what it should give back.

Usage: npm run soak -- [--minutes N]    default 30
`;

/** Undefined: help was asked for, and given. */
export function parseSoakOptions(args: readonly string[]): SoakOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: { minutes: { type: 'string', default: '30' }, help: { type: 'boolean', short: 'h' } },
  });
  const minutes = Number(values.minutes);
  if (values.help === true || !(minutes > 0)) {
    process.stdout.write(USAGE);
    return undefined;
  }
  return { minutes, sampleSeconds: Math.min(5, minutes) };
}
