import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Waits, beside the program, for the end of a pipe whose other end only we have, and then kills the group. It is no
 * child of the program, and does not hold its stdout open.
 */
const SCRIPT =
  '( { read -r _ <&3; kill -KILL 0; } & ) > /dev/null 2>&1 < /dev/null; exec "$0" "$@" 3<&-';

/**
 * Starts a program that is killed when this process ends, even by SIGKILL, with all that it has started. It leads a
 * process group of its own, and has our stderr. For this a shell is enough; the end-to-end tests use setpriv.
 */
export function spawnMortal(
  command: string,
  args: readonly string[],
  options: { readonly stdout: 'pipe' | 'inherit'; readonly env?: NodeJS.ProcessEnv },
): ChildProcess {
  const { stdout, env = process.env } = options;
  const child: ChildProcess = spawn('sh', ['-c', SCRIPT, command, ...args], {
    env,
    stdio: ['ignore', stdout, 'inherit', 'pipe'],
    detached: true,
  });
  // Ends the shell that waits, and what the program has left running: `close` comes only then.
  child.once('exit', () => child.stdio[3]?.destroy());
  return child;
}
