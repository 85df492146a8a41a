import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** The cluster that is measured with. */
export interface ClusterShape {
  readonly services: number;
  /** Endpoints of each Service's one slice. */
  readonly endpoints: number;
  readonly nodes: number;
  readonly sites: number;
}

export interface BenchOptions {
  readonly cluster: ClusterShape;
  /** How often direct and wrapper take turns. */
  readonly rounds: number;
  /** Requests of a kind in a turn. */
  readonly listsPerRound: number;
  readonly streamsPerRound: number;
  /** Starts of the wrapper. */
  readonly starts: number;
  /**
   * How long a process is left alone once it is ready, and before its memory is read, in milliseconds: longer than
   * it takes the wrapper to give back the memory of its first lists (src/run/trim-heap.ts).
   */
  readonly settleMs: number;
  /** How long CPU use is measured, in seconds, and how often; the median counts. */
  readonly cpuSeconds: number;
  readonly cpuWindows: number;
  /** How long nothing happens before that, in milliseconds. */
  readonly cpuQuietMs: number;
  /** How long bytes of the API server are counted, for each figure, in seconds. */
  readonly upstreamSeconds: number;
  /**
   * The same without events, where there are only bookmarks, one a minute for each watch, and PINGs: they are
   * counted for longer.
   */
  readonly quietSeconds: number;
  /** Parts to run; empty: all. */
  readonly only: readonly string[];
  readonly json: boolean;
  /** Put the results into bench/README.md. */
  readonly write: boolean;
  readonly smoke: boolean;
  /** Programs to compare with, in turns: paths, or versions of past releases. */
  readonly against: readonly string[];
  /** Turns of each program. */
  readonly turns: number;
  /** The program to measure; undefined: dist/main.js, built first. */
  readonly wrapper: string | undefined;
  /** Folder that gets a CPU profile of every wrapper process. */
  readonly profile: string | undefined;
}

export const USAGE = `npm run bench -- [flags]

  --services N    Services in the cluster, each with one slice (default 10000)
  --endpoints N   endpoints in a slice (default 10)
  --nodes N       nodes, in 10 sites (default 100)
  --rounds N      how often direct and wrapper take turns (default 10)
  --quiet N       minutes without events in which the bytes of the API server are counted (default 4)
  --only PARTS    comma-separated: ${partNames().join(', ')}
  --smoke         100 Services, 2 rounds; for CI: fails only when it can't run
  --json          results as JSON on stdout; the table goes to stderr
  --write         put the results into bench/README.md; for whole runs only
  --wrapper FILE  measure this program in place of dist/main.js (which is built first)
  --against LIST  in turns with others: comma-separated bundles or past releases (1.1.0, 1.2.0, last); not with
                  upstream, fleet, boot and site: these ask one API server
  --turns N       turns of each program with --against (default 3)
  --profile DIR   CPU profiles of the wrapper processes
  --help          this text
`;

/** Parts that count what one API server is asked for, or change the cluster for good. */
const ONCE = ['upstream', 'fleet', 'boot', 'site'];
/** Parts that leave the cluster as they found it. */
const REPEATABLE = partNames().filter((part) => !ONCE.includes(part));

/** Names of what `--only` chooses from. */
export function partNames(): readonly string[] {
  return [
    'idle',
    'raw',
    'start',
    'filtered',
    'events',
    'relabel',
    'others',
    'churn',
    'large',
    'json',
    'upstream',
    'fleet',
    'boot',
    'site',
  ];
}

/** Parts of the part `fleet` that can be run by themselves. */
const OF_FLEET = ['boot', 'site'];

/** Flags that all benchmarks have. */
export const COMMON_FLAGS = {
  smoke: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  write: { type: 'boolean', default: false },
  wrapper: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

const FLAGS = {
  ...COMMON_FLAGS,
  services: { type: 'string' },
  endpoints: { type: 'string' },
  nodes: { type: 'string' },
  rounds: { type: 'string' },
  quiet: { type: 'string' },
  against: { type: 'string' },
  turns: { type: 'string' },
  only: { type: 'string' },
  profile: { type: 'string' },
} as const;

/** Reads the command line; undefined: help is asked for. Throws on what it doesn't know. */
export function parseOptions(args: string[]): BenchOptions | undefined {
  const { values } = parseArgs({ args, options: FLAGS });
  if (values.help) return undefined;
  const { smoke } = values;
  const against = values.against?.split(',') ?? [];
  const isCompared = against.length > 0;
  const parts = isCompared ? REPEATABLE : partNames();
  const given = values.only?.split(',') ?? (isCompared ? parts : []);
  const unknown = given.filter((part) => !parts.includes(part));
  if (unknown.length > 0) {
    throw new Error(`--only: ${unknown.join(', ')} is not one of ${parts.join(', ')}`);
  }
  if (isCompared && values.write) throw new Error('--write: not with --against');
  if (!isCompared && values.turns !== undefined) throw new Error('--turns: only with --against');
  const only = given.includes('fleet') ? [...given, ...OF_FLEET] : given;
  const nodes = positive('nodes', values.nodes, 100);
  if (nodes % 10 !== 0) throw new Error('--nodes: must be a multiple of 10');
  return {
    cluster: {
      services: positive('services', values.services, smoke ? 100 : 10_000),
      endpoints: positive('endpoints', values.endpoints, 10),
      nodes,
      sites: 10,
    },
    rounds: positive('rounds', values.rounds, smoke ? 2 : 10),
    listsPerRound: smoke ? 3 : 10,
    streamsPerRound: smoke ? 2 : 5,
    starts: smoke || isCompared ? 1 : 3,
    settleMs: smoke ? 500 : 10_000,
    cpuSeconds: smoke ? 1 : 10,
    cpuWindows: smoke ? 1 : 3,
    cpuQuietMs: smoke ? 500 : 15_000,
    upstreamSeconds: smoke ? 1 : 60,
    quietSeconds: smoke ? 4 : 60 * positive('quiet', values.quiet, 4),
    only,
    against,
    turns: isCompared ? positive('turns', values.turns, 3) : 1,
    smoke,
    profile: values.profile === undefined ? undefined : resolve(values.profile),
    ...outputOptions(values),
  };
}

/** What is measured, and where the results go. Throws where only a part of it would go into bench/README.md. */
export function outputOptions(values: {
  readonly smoke: boolean;
  readonly json: boolean;
  readonly write: boolean;
  readonly wrapper?: string;
  readonly only?: string;
}): Pick<BenchOptions, 'json' | 'write' | 'wrapper'> {
  const { smoke, json, write, wrapper, only } = values;
  if (write && (smoke || wrapper !== undefined || only !== undefined)) {
    throw new Error('--write: only for a whole run of dist/main.js');
  }
  return { json, write, wrapper: wrapper === undefined ? undefined : resolve(wrapper) };
}

/** A whole number from 1 on; throws on any other text. */
export function positive(name: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name}: must be a whole number`);
  return value;
}
