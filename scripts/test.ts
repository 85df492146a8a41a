/**
 * Runs tests.
 *
 *     npm test                      unit tests and properties
 *     npm test SUITE [PATTERN...]   a suite of the table below, or its files whose path matches
 *     npm test PATTERN...           files of unit, integration and slow whose path matches
 *
 * A pattern is a regular expression, or a folder: test/cli has nothing of test/client.
 *
 * Flags of jest follow `--`: npm test -- integration --verbose
 */
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');

interface Suite {
  /** Project of jest.config.js; default `real`. */
  readonly project?: 'unit' | 'integration' | 'slow';
  /** Folder of the project `real`. */
  readonly root?: string;
  /** What must have run before: files of the repository, with arguments. */
  readonly prepare?: readonly string[];
  /** One file at a time, because its tests share namespaces, ports or the CPU. */
  readonly serial?: boolean;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const COMPONENTS = 'harness/build.ts components';
const BUILD = 'scripts/build.ts';
const PAGE = ['scripts/build-page.ts', 'test/web/install-chromium.ts'];
const ignore = (folder: string) => `--testPathIgnorePatterns=/${folder}/`;

/** All suites, by name. */
export const SUITES: Readonly<Record<string, Suite>> = {
  unit: { project: 'unit' },
  integration: { project: 'integration' },
  slow: { project: 'slow', serial: true },
  fuzz: { root: 'test/fuzz' },
  web: { root: 'test/web', prepare: PAGE, serial: true },
  e2e: { root: 'test/real/e2e', prepare: [COMPONENTS], serial: true },
  ipvs: {
    root: 'test/real/ipvs',
    prepare: [COMPONENTS, 'harness/build.ts ipvs'],
    serial: true,
  },
  faults: {
    root: 'test/real/faults',
    prepare: [COMPONENTS],
    serial: true,
    // Faults leave connections open that time out minutes later.
    flags: ['--forceExit'],
  },
  hostile: { root: 'test/real/hostile', prepare: [COMPONENTS], serial: true },
  cluster: {
    root: 'test/real/cluster',
    prepare: [BUILD, 'harness/build.ts cluster'],
    serial: true,
    // Those take minutes: before a release KPW_CLUSTER=all runs them too.
    flags: process.env.KPW_CLUSTER === 'all' ? [] : [ignore('release')],
  },
  deploy: {
    root: 'test/real/deploy',
    prepare: [BUILD, 'harness/build.ts deploy'],
    serial: true,
    flags: [ignore('charts')],
  },
  charts: {
    root: 'test/real/deploy/charts',
    prepare: ['harness/build.ts charts'],
    serial: true,
  },
  versions: {
    root: 'test/real/versions',
    prepare: [COMPONENTS, BUILD, 'harness/build.ts versions'],
    serial: true,
    env: { KPW_PROGRAM: 'dist/main.js' },
  },
  clients: {
    root: 'test/real/clients',
    prepare: [BUILD],
    serial: true,
    env: { KPW_PROGRAM: 'dist/main.js' },
  },
};

/** Projects in which a pattern without a suite is looked for. */
const FAST = ['unit', 'integration', 'slow'];
/** kB of memory that a process of the fast projects may have: a leak must fail, not swap. */
const DATA_LIMIT = 3 * 1024 * 1024;

/** What runs for some arguments: a suite, or the patterns in all fast projects. */
interface Run extends Suite {
  /** Arguments of jest. */
  readonly jest: readonly string[];
}

/** Returns what arguments of `npm test` mean. */
export function parseArguments(args: readonly string[]): Run {
  const [first = 'unit', ...others] = args;
  const named = SUITES[first];
  const rest = named === undefined ? args : others;
  const patterns = rest.filter((arg) => !arg.startsWith('-'));
  const suite = named ?? (patterns.length === 0 ? SUITES.unit : undefined) ?? {};
  const isFast = named === undefined && patterns.length > 0;
  const jest = [
    ...['--selectProjects', ...(isFast ? FAST : [suite.project ?? 'real'])],
    ...(suite.root === undefined ? [] : ['--roots', suite.root]),
    ...(suite.serial === true ? ['--runInBand'] : []),
    ...(suite.flags ?? []),
    ...rest.filter((arg) => arg.startsWith('-')),
    ...(patterns.length === 0 ? [] : ['--testPathPatterns', ...patterns.map(wholeFolder)]),
  ];
  return { ...suite, jest };
}

/** A pattern that is a folder, so that no folder with a longer name matches. */
function wholeFolder(pattern: string): string {
  const path = resolve(ROOT, pattern);
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder && !pattern.endsWith('/') ? `${pattern}/` : pattern;
}

/** Runs a program of Node.js, and ends with its exit code unless that is 0. */
function run(command: readonly string[], { root, env }: Suite): void {
  const limit = root === undefined ? `ulimit -d ${DATA_LIMIT}; ` : '';
  const args = ['-c', `${limit}exec "$@"`, 'sh', process.execPath, ...command];
  const { status } = spawnSync('sh', args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}

if (import.meta.main) {
  const wanted = parseArguments(process.argv.slice(2));
  // CI has built dist/ already, and others run from there meanwhile.
  const isBuilt = process.env.KPW_BUILT === 'true';
  const programs = (wanted.prepare ?? []).filter((program) => !isBuilt || program !== BUILD);
  for (const program of programs) run(program.split(' '), { root: '' });
  const modules = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  run([...modules, 'node_modules/jest/bin/jest.js', ...wanted.jest], wanted);
}
