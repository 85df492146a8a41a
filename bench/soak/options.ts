import { parseArgs } from 'node:util';

export interface SoakOptions {
  /** How long it runs, after the warm-up. */
  readonly minutes: number;
  /** Seconds between two samples. */
  readonly sampleSeconds: number;
  /** Behind a real kube-apiserver that ends connections, in place of an API server in memory. */
  readonly goaway: boolean;
  /** The wrapper reads from a relay, which is measured too. */
  readonly relay: boolean;
}

const USAGE = `Runs the wrapper for long under churn, with clients that come and go and slow ones, and
looks whether it keeps what it should give back.

Usage: npm run soak -- [--minutes N] [--goaway] [--relay]

  --minutes N   after the warm-up (default 30)
  --goaway      behind a real kube-apiserver with --goaway-chance=0.02: a watch is opened each
                second, and each must be answered
  --relay       the wrapper reads from a relay, and both are measured
`;

/** Undefined: help was asked for, and given. */
export function parseSoakOptions(args: readonly string[]): SoakOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '30' },
      goaway: { type: 'boolean', default: false },
      relay: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  });
  const minutes = Number(values.minutes);
  if (values.help === true || !(minutes > 0)) {
    process.stdout.write(USAGE);
    return undefined;
  }
  const { goaway, relay } = values;
  return { minutes, sampleSeconds: Math.min(5, minutes), goaway, relay };
}
