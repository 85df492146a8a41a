import { execFileSync } from 'node:child_process';
import { ROOT } from './project.ts';

/** Runs a command in the root of the repository, prints it, and throws if it fails. */
export function run(command: string, ...args: string[]): void {
  console.error(`+ ${[command, ...args].join(' ')}`);
  execFileSync(command, args, { cwd: ROOT, stdio: ['ignore', 2, 2] });
}

/** The same; returns what the command writes to its standard output and standard error output. */
export function capture(command: string, ...args: string[]): string {
  console.error(`+ ${[command, ...args].join(' ')}`);
  // Helm 3 reports a pushed chart on one, Helm 4 on the other.
  const script = 'exec "$0" "$@" 2>&1';
  return execFileSync('sh', ['-c', script, command, ...args], { cwd: ROOT, encoding: 'utf8' });
}
