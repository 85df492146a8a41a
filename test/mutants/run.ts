/**
 * Plants each bug of mutants.yaml in a copy of this checkout, and runs the tests that must find it. Arguments choose
 * bugs: those whose file or description contains one of them. Exits with 1 if a bug is not found.
 */
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Mutant, readMutants } from './read-mutants.ts';

/** How jest ended. */
interface Outcome {
  readonly passed: boolean;
  /** Whether it got no more memory. */
  readonly outOfMemory: boolean;
  /** What it printed. */
  readonly text: string;
}

const ROOT = join(import.meta.dirname, '../..');
const JEST = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--bail', '--silent'];
const PROJECTS = ['--selectProjects', 'unit', 'integration', 'slow'];
/** A bug may make each test of a file wait for what never comes. */
const WITH_BUG = { flags: ['--testTimeout=20000', '-w', '1'], timeout: 600_000 };
/** Without a bug the slowest test takes 6 s of a quiet core, so nothing but other work makes one take longer. */
const WITHOUT_BUG = {
  flags: ['--testTimeout=120000', '-w', String(availableParallelism())],
  timeout: 1_800_000,
};
/**
 * Sets a limit for the data of the process, in KiB, and becomes jest. A bug that eats memory ends there, and not the
 * machine. Buffers count, which no option of V8 limits. 0.6 GiB are what V8 sets aside. Each child has the same limit.
 */
const LIMIT_MEMORY = 'ulimit -d 3145728 && exec "$0" "$@"';
/** How a process ends that gets no more memory. */
const OUT_OF_MEMORY = ['SIGABRT', 'SIGTRAP'];
const LIMITS = { killSignal: 'SIGKILL', maxBuffer: 1 << 28 } as const;

/** The bugs that the arguments choose; all without arguments. */
function chooseMutants(chosen: readonly string[]): Mutant[] {
  return readMutants().filter(({ file, breaks }) => {
    return chosen.length === 0 || chosen.some((each) => `${file}: ${breaks}`.includes(each));
  });
}

function copyCheckout(): string {
  const copy = mkdtempSync(join(tmpdir(), 'mutants-'));
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  const files = execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const file of files.slice(0, -1)) cpSync(join(ROOT, file), join(copy, file));
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

function runJest(
  copy: string,
  patterns: readonly string[],
  { flags, timeout }: typeof WITH_BUG,
): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const jest = [...JEST, ...PROJECTS, ...flags, '--testPathPatterns', ...patterns];
  const args = ['-c', LIMIT_MEMORY, process.execPath, ...jest];
  // As in CI: some bugs are found in a few cases of a property only.
  const env = { ...process.env, KPW_ALL_RUNS: '1' };
  execFile('sh', args, { cwd: copy, env, timeout, ...LIMITS }, (error, _stdout, text) => {
    const outOfMemory = OUT_OF_MEMORY.includes(error?.signal ?? '');
    resolve({ passed: error === null, outOfMemory, text });
  });
  return promise;
}

/**
 * What found the bug: the first test that failed, or the limit of memory. A test file that cannot be loaded is not one.
 * On a busy machine a test may take too long without the bug too.
 */
function findKiller({ text, outOfMemory }: Outcome): string | undefined {
  const [, test] = /^ {2}● (?!Test suite failed to run)(.+)$/m.exec(text) ?? [];
  if (test === undefined) return outOfMemory ? 'the limit of memory' : undefined;
  return text.includes('Exceeded timeout of ') ? `${test} (by its time limit)` : test;
}

/** Returns whether the tests find a bug. */
async function plant(copy: string, mutant: Mutant): Promise<boolean> {
  const { file, breaks, from, to, tests } = mutant;
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  const isThereOnce = source.split(from).length === 2;
  if (!isThereOnce) {
    console.log(
      `NOT FOUND ${file}: ${breaks}\n          its text is not there exactly once: ${from}`,
    );
    return false;
  }
  writeFileSync(
    path,
    source.replace(from, () => to),
  );
  const outcome = await runJest(copy, [tests], WITH_BUG);
  writeFileSync(path, source);
  const killer = findKiller(outcome);
  console.log(
    killer === undefined
      ? `SURVIVED  ${file}: ${breaks}\n${outcome.text.slice(-2_000)}`
      : `killed    ${file}: ${breaks}\n          ${killer}`,
  );
  return killer !== undefined;
}

/** Without a bug the tests must pass. Otherwise they would seem to find each one. */
async function assertTestsPass(copy: string, mutants: readonly Mutant[]): Promise<void> {
  const patterns = [...new Set(mutants.map(({ tests }) => tests))];
  const { passed, text } = await runJest(copy, patterns, WITHOUT_BUG);
  if (!passed) throw new Error(`the tests fail without a bug:\n${text.slice(-2_000)}`);
}

const mutants = chooseMutants(process.argv.slice(2));
if (mutants.length === 0) {
  console.error(
    'no planted bug has this in its file or description: see test/mutants/mutants.yaml',
  );
  process.exit(1);
}
const queue = [...mutants];
let found = 0;

async function work(copy: string): Promise<void> {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    if (await plant(copy, next)) found += 1;
  }
}

const copies = Array.from({ length: availableParallelism() }, copyCheckout);
try {
  await assertTestsPass(copies[0] as string, mutants);
  await Promise.all(copies.map(work));
  console.log(`${found} of ${mutants.length} planted bugs were found`);
  process.exitCode = found === mutants.length ? 0 : 1;
} finally {
  for (const copy of copies) rmSync(copy, { recursive: true });
}
