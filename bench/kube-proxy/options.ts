import { parseArgs } from 'node:util';
import type { KubeProxyMode } from '../../harness/node/kube-proxy.ts';
import { type ClusterShape, COMMON_FLAGS, outputOptions, positive } from '../options.ts';

export interface GainOptions {
  readonly cluster: ClusterShape;
  readonly modes: readonly KubeProxyMode[];
  /** Numbers of Services of clusters that are measured in place of one; undefined: there is one. */
  readonly sizes: readonly number[] | undefined;
  /** How long slices change before the window, so that it begins in the midst of that, in seconds. */
  readonly warmUpSeconds: number;
  /** How long sync rounds and CPU are counted, in seconds; longer if the machine can't keep up the rate. */
  readonly windowSeconds: number;
  /** A kube-proxy that is idle for so long has no round under way, or due; in milliseconds. */
  readonly quietMs: number;
  /** Slices that change in a second. */
  readonly rate: number;
  readonly json: boolean;
  /** Put the results into bench/README.md. */
  readonly write: boolean;
  /** The program to measure; undefined: dist/main.js, built first. */
  readonly wrapper: string | undefined;
}

const SIZES: readonly number[] = [100, 500, 1_000, 3_000, 10_000];
const SMOKE_SIZES: readonly number[] = [20, 100];

const MODES: readonly KubeProxyMode[] = ['nftables', 'iptables'];

export const USAGE = `npm run bench:kube-proxy -- [flags]     as root

  --services N    Services in the cluster, each with one slice of 10 endpoints (default 10000)
  --modes MODES   comma-separated: ${MODES.join(', ')} (default: both)
  --break-even    clusters of different sizes, for 20 s each: from which on the wrapper saves more than it needs
  --seconds N     how long sync rounds and CPU are counted (default 60)
  --rate N        slices that change in a second meanwhile, none of them seen by the node (default 100)
  --smoke         100 Services, 1 second; for CI: fails only when it can't run
  --json          results as JSON on stdout; the table goes to stderr
  --write         put the results into bench/README.md; for whole runs only
  --wrapper FILE  measure this program in place of dist/main.js (which is built first)
  --help          this text
`;

const FLAGS = {
  ...COMMON_FLAGS,
  services: { type: 'string' },
  modes: { type: 'string', default: MODES.join() },
  'break-even': { type: 'boolean', default: false },
  seconds: { type: 'string' },
  rate: { type: 'string' },
} as const;

/** Reads the command line; undefined: help is asked for. Throws on what it doesn't know. */
export function parseGainOptions(args: string[]): GainOptions | undefined {
  const { values } = parseArgs({ args, options: FLAGS });
  if (values.help) return undefined;
  const { smoke, modes } = values;
  const sizes = sizesOf(values);
  const seconds = sizes === undefined ? 60 : 20;
  const services = positive('services', values.services, smoke ? 100 : 10_000);
  return {
    cluster: { services, endpoints: 10, nodes: 100, sites: 10 },
    modes: modes.split(',').map(parseMode),
    sizes,
    warmUpSeconds: smoke ? 0 : 5,
    windowSeconds: positive('seconds', values.seconds, smoke ? 1 : seconds),
    quietMs: smoke ? 500 : 3_000,
    rate: positive('rate', values.rate, 100),
    ...outputOptions({ ...values, ...(modes === MODES.join() ? {} : { only: modes }) }),
  };
}

function parseMode(text: string): KubeProxyMode {
  const mode = MODES.find((known) => known === text);
  if (mode === undefined) throw new Error(`--modes: unknown mode ${text}`);
  return mode;
}

function sizesOf(values: {
  readonly smoke: boolean;
  readonly services?: string;
  readonly 'break-even': boolean;
}): GainOptions['sizes'] {
  if (!values['break-even']) return undefined;
  if (values.services !== undefined) {
    throw new Error('--services: not with --break-even, which has sizes of its own');
  }
  return values.smoke ? SMOKE_SIZES : SIZES;
}
