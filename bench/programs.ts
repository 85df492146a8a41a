import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  buildPastProgram,
  PAST_RELEASES,
  type PastVersion,
} from '../harness/cluster/past-release.ts';
import { repository } from '../harness/deploy/repository.ts';
import { runCommand } from '../harness/process/run-command.ts';

/** A program that is measured. */
export interface Program {
  /** As the results call it. */
  readonly name: string;
  /** Path of its bundle. */
  readonly path: string;
}

/** The program to measure: the other one, if there is one, or dist/main.js, which is compiled first. */
export async function ourProgram(other: string | undefined): Promise<Program> {
  if (other === undefined)
    await runCommand('npm', ['run', '--silent', 'build'], { cwd: repository });
  return { name: 'this', path: other ?? join(repository, 'dist/main.js') };
}

/**
 * The programs to compare with: each a bundle by its path, or a past release by its version, which is built first.
 * `last` is the newest of these. Throws if there is neither.
 */
export async function rivalPrograms(
  against: readonly string[],
  progress: (line: string) => void,
): Promise<Program[]> {
  const programs: Program[] = [];
  for (const name of against) programs.push(await rivalProgram(name, progress));
  return programs;
}

async function rivalProgram(name: string, progress: (line: string) => void): Promise<Program> {
  if (existsSync(name)) return { name, path: resolve(name) };
  const versions = Object.keys(PAST_RELEASES);
  const version = name === 'last' ? versions.at(-1) : name;
  if (!isPastVersion(version)) {
    throw new Error(`--against ${name}: neither a file nor one of ${versions.join(', ')}, last`);
  }
  progress(`building ${version}, unless it is there`);
  const folder = join(process.env.KPW_CACHE ?? join(repository, '.cache'), 'releases');
  return { name: version, path: join(await buildPastProgram(version, folder), 'dist/main.js') };
}

function isPastVersion(version: string | undefined): version is PastVersion {
  return version !== undefined && Object.hasOwn(PAST_RELEASES, version);
}

/** The order of so many turns of each program: every other one begins at the other end. */
export function turnsOf(programs: readonly Program[], turns: number): Program[] {
  return Array.from({ length: turns }, (_, turn) =>
    turn % 2 === 0 ? programs : programs.toReversed(),
  ).flat();
}
